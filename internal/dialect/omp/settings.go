package omp

import (
	"slices"
	"time"

	"troupe/internal/shelltext"
	"troupe/internal/shelltext/minimize"
	"troupe/messages"
)

// Settings holds the settings of oh-my-pi; each comment names the key. In the zero Settings
// most are off: start with DefaultSettings.
type Settings struct {
	// AsyncEnabled is async.enabled (false). It enables the parameter async and the tool
	// job.
	AsyncEnabled bool
	// PollWait is async.pollWaitDuration (30s), the wait of the tool job: 5s, 10s, 30s, 1m
	// or 5m.
	PollWait time.Duration
	// AutoBackground is bash.autoBackground.enabled (false). Commands that take longer than
	// AutoBackgroundThreshold go to the background.
	AutoBackground bool
	// AutoBackgroundThreshold is bash.autoBackground.thresholdMs (60 s).
	AutoBackgroundThreshold time.Duration
	// StripTrailingHeadTail is bash.stripTrailingHeadTail (true). A trailing | head or |
	// tail becomes a limit, and the parameters head and tail exist.
	StripTrailingHeadTail bool
	// VirtualTerminal is bash.virtualTerminal ("off"). "on" makes pty the default.
	VirtualTerminal string
	// MaxTimeout is tools.maxTimeout, the longest timeout in seconds (0: no such limit).
	MaxTimeout float64
	// ZeroTimeoutDisables makes timeout: 0 mean no deadline, as in later versions.
	ZeroTimeoutDisables bool
	// Interceptor is bashInterceptor.enabled (false). Rules are bashInterceptor.patterns;
	// nil: the default rules, plus those for async if it is enabled. SearchTool
	// names the search tool in the default rules ("search", R-290).
	Interceptor bool
	Rules       []shelltext.Rule
	SearchTool  string
	// ShellPath is shellPath (""); "": a shell is searched.
	ShellPath string
	// ShellPrefix precedes each command (""); "": the environment decides.
	ShellPrefix string
	// OneShot runs each command in a process of its own, without live shells.
	OneShot bool
	// PassEnv names variables that commands inherit although they look like secrets
	//
	PassEnv []string
	// Minimizer holds shellMinimizer.*.
	Minimizer minimize.Settings
	// Quota bounds the output of a job; the zero value is the node's default.
	Quota messages.Quota
}

// DefaultSettings returns the settings of a host that sets nothing.
func DefaultSettings() Settings {
	return Settings{
		PollWait: 30 * time.Second, AutoBackgroundThreshold: time.Minute, StripTrailingHeadTail: true,
		Minimizer: minimize.Defaults(),
	}
}

// pollWaits lists the values of async.pollWaitDuration.
var pollWaits = []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute}

// PollWaits returns the valid values of Settings.PollWait. Any other value means the
// default.
func PollWaits() []time.Duration { return slices.Clone(pollWaits) }

// pollWait returns the setting, or the default for an invalid value.
func (s Settings) pollWait() time.Duration {
	for _, d := range pollWaits {
		if s.PollWait == d {
			return d
		}
	}
	return 30 * time.Second
}

// background reports whether the session offers background jobs.
func (s Settings) background() bool { return s.AsyncEnabled || s.AutoBackground }

// rules returns the rules that block commands.
func (s Settings) rules() shelltext.Rules {
	rules := s.Rules
	if rules == nil {
		if rules = shelltext.DefaultRules(s.SearchTool); s.AsyncEnabled {
			rules = append(rules, shelltext.AsyncRules()...)
		}
	}
	return shelltext.Compile(rules)
}

// prefix returns the text before each command.
func prefix(caller []string, s Settings) string {
	if s.ShellPrefix != "" {
		return s.ShellPrefix
	}
	return shelltext.Prefix(caller)
}
