package copilot

import (
	"strings"
	"time"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// Settings holds the settings of the suite. The zero value has the defaults of Copilot CLI.
type Settings struct {
	// Shell is the shell config; the zero value: Bash(false).
	Shell Config
	// SpawnBackend is the feature flag SHELL_SPAWN_BACKEND. It gives each command its own
	// process and no terminal.
	SpawnBackend bool
	// NoNotifications turns off notices of ends in the background.
	NoNotifications bool
	// InitialWait bounds the wait for a synchronous command (10 s). Calls can only ask for
	// more.
	InitialWait time.Duration
	// DetachedDir and DetachedName place the logs of detached commands. "" are the
	// temporary directory of the caller's environment and copilot-detached.
	DetachedDir, DetachedName string
	// PassEnv names variables that commands inherit although they look like secrets.
	PassEnv []string
	// Quota bounds the output of a job; the zero value is the node's default.
	Quota messages.Quota
}

// withDefaults fills in the defaults.
func (s Settings) withDefaults(env []string) Settings {
	if s.Shell.Kind == "" {
		s.Shell = Bash(false)
	}
	if s.InitialWait <= 0 {
		s.InitialWait = defaultWait
	}
	if s.DetachedDir == "" {
		s.DetachedDir = "/tmp"
		if dir := shelltext.Value(env, "TMPDIR"); strings.HasPrefix(dir, "/") {
			s.DetachedDir = dir
		}
	}
	if s.DetachedName == "" {
		s.DetachedName = "copilot-detached"
	}
	return s
}

// capabilities returns those of the backend.
func (s Settings) capabilities() Capabilities {
	return Capabilities{TTYSupport: !s.SpawnBackend, TerminalInput: !s.SpawnBackend}
}

func isPager(name string) bool { return strings.HasSuffix(name, "PAGER") || name == "LESS" }

// keepFiles reports whether the files of large outputs remain after the session.
func keepFiles(env []string) bool {
	return shelltext.Value(env, "TROUPE_KEEP_TEMP_FILES") == "true" || shelltext.Value(env, "COPILOT_KEEP_TEMP_FILES") == "true"
}
