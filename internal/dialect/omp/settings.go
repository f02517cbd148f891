package omp

import (
	"slices"
	"time"

	"troupe/internal/shelltext"
	"troupe/internal/shelltext/minimize"
	"troupe/messages"
)

// Settings are those of the family; each names its key. The zero Settings has most
// of it off: begin with DefaultSettings.
type Settings struct {
	// AsyncEnabled is async.enabled (false): the parameter async, and the tool job.
	AsyncEnabled bool
	// PollWait is async.pollWaitDuration (30s): how long the tool job waits; 5s, 10s,
	// 30s, 1m or 5m.
	PollWait time.Duration
	// AutoBackground is bash.autoBackground.enabled (false): a command that takes
	// longer than the next goes on in the background.
	AutoBackground bool
	// AutoBackgroundThreshold is bash.autoBackground.thresholdMs (60 s).
	AutoBackgroundThreshold time.Duration
	// StripTrailingHeadTail is bash.stripTrailingHeadTail (true): a trailing | head or
	// | tail becomes a limit, and the parameters head and tail are there.
	StripTrailingHeadTail bool
	// VirtualTerminal is bash.virtualTerminal ("off"): "on" is the default of the
	// parameter pty.
	VirtualTerminal string
	// MaxTimeout is tools.maxTimeout, seconds (0: none): no timeout is longer.
	MaxTimeout float64
	// ZeroTimeoutDisables lets timeout: 0 mean no deadline, as later versions do.
	ZeroTimeoutDisables bool
	// Interceptor is bashInterceptor.enabled (false), Rules are bashInterceptor.patterns;
	// nil: the default ones, with SearchTool as the tool that searches ("search", R-290), and
	// with async.enabled those that point at it.
	Interceptor bool
	Rules       []shelltext.Rule
	SearchTool  string
	// ShellPath is shellPath (""): the shell; else one is found.
	ShellPath string
	// ShellPrefix stands before each command (""); "" asks the environment.
	ShellPrefix string
	// OneShot has each command run in a process of its own, and none in a live shell.
	OneShot bool
	// PassEnv are names of variables that commands inherit although they look like
	// secrets.
	PassEnv []string
	// Minimizer is shellMinimizer.*.
	Minimizer minimize.Settings
	// SpillThreshold is tools.artifactSpillThreshold (50 KB), SpillTailBytes is
	// tools.artifactTailBytes (20 KB), SpillTailLines tools.artifactTailLines (500).
	SpillThreshold int
	SpillTailBytes int
	SpillTailLines int
	// OnExit is what becomes of processes that a command leaves behind; "": the
	// session's scope keeps them.
	OnExit messages.OnExit
	// Quota bounds the output of a job; the zero value is the node's default.
	Quota messages.Quota
}

// DefaultSettings are what a host has that sets nothing.
func DefaultSettings() Settings {
	return Settings{
		PollWait: 30 * time.Second, AutoBackgroundThreshold: time.Minute, StripTrailingHeadTail: true,
		Minimizer:      minimize.Defaults(),
		SpillThreshold: 50 << 10, SpillTailBytes: 20 << 10, SpillTailLines: 500,
	}
}

// pollWaits are the values of async.pollWaitDuration.
var pollWaits = []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute}

// PollWaits are the values that Settings.PollWait may have; any other is the default.
func PollWaits() []time.Duration { return slices.Clone(pollWaits) }

// pollWait is the setting, or the default if it is none of the values.
func (s Settings) pollWait() time.Duration {
	for _, d := range pollWaits {
		if s.PollWait == d {
			return d
		}
	}
	return 30 * time.Second
}

// background says whether there are background jobs at all.
func (s Settings) background() bool { return s.AsyncEnabled || s.AutoBackground }

// rules are those that block commands.
func (s Settings) rules() shelltext.Rules {
	rules := s.Rules
	if rules == nil {
		if rules = shelltext.DefaultRules(s.SearchTool); s.AsyncEnabled {
			rules = append(rules, shelltext.AsyncRules()...)
		}
	}
	return shelltext.Compile(rules)
}

// prefix is what stands before each command.
func prefix(caller []string, s Settings) string {
	if s.ShellPrefix != "" {
		return s.ShellPrefix
	}
	return shelltext.Prefix(caller)
}
