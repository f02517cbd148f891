package copilot

import (
	"strings"
	"time"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// Settings are those of the suite; the zero value is the family's defaults.
type Settings struct {
	// Shell is the shell config; the zero value: Bash(false).
	Shell Config
	// SpawnBackend is the feature flag SHELL_SPAWN_BACKEND: without a sandbox each command
	// is a process of its own, and none has a terminal.
	SpawnBackend bool
	// NoNotifications turns off notices of ends in the background.
	NoNotifications bool
	// InitialWait is how long a synchronous command is waited for (10 s); calls can only
	// ask for more.
	InitialWait time.Duration
	// DetachedDir and DetachedName are where the logs of detached commands go: "" are the
	// temporary directory of the caller's environment, and copilot-detached.
	DetachedDir, DetachedName string
	// PassEnv are names of variables that commands inherit although they look like
	// secrets.
	PassEnv []string
	// OnExit is what becomes of processes that a command leaves behind; "": its shell
	// keeps them, and they end with it.
	OnExit messages.OnExit
	// Quota bounds the output of a job; the zero value is the node's default.
	Quota messages.Quota
}

// withDefaults fills in what was left out.
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

func isPager(name string) bool { return strings.HasSuffix(name, "PAGER") || name == "LESS" }

// keepFiles says whether the files of large outputs stay behind the session.
func keepFiles(env []string) bool {
	return shelltext.Value(env, "TROUPE_KEEP_TEMP_FILES") == "true" || shelltext.Value(env, "COPILOT_KEEP_TEMP_FILES") == "true"
}
