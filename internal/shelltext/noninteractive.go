package shelltext

import "strings"

// Variables that leave out CI: troupe's, then those of other tools.
const (
	NoCIVar       = "TROUPE_NO_CI"
	noCIVarPi     = "PI_BASH_NO_CI"
	noCIVarClaude = "CLAUDE_BASH_NO_CI"
)

// ciMark marks a command as unattended.
const ciMark = "CI=true"

// SetsCI reports whether commands get CI, which marks them as unattended. It is false
// if the host's environment has a non-empty TROUPE_NO_CI, PI_BASH_NO_CI or
// CLAUDE_BASH_NO_CI.
func SetsCI(host []string) bool { return firstOf(host, NoCIVar, noCIVarPi, noCIVarClaude) == "" }

// NonInteractive returns variables that keep programs from prompting, paging and
// drawing when no person can answer. ci adds CI. Its value is true: programs that
// read it as a strict boolean refuse 1.
func NonInteractive(ci bool) []string {
	env := []string{
		"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat", "BAT_PAGER=cat", "DELTA_PAGER=cat", "GH_PAGER=cat", "GLAB_PAGER=cat",
		"PSQL_PAGER=cat", "MYSQL_PAGER=cat", "HOMEBREW_PAGER=cat", "AWS_PAGER=", "LESS=FRX",

		"GIT_EDITOR=true", "VISUAL=true", "EDITOR=true", "npm_config_yes=true", "PNPM_DISABLE_SELF_UPDATE_CHECK=true",
		"npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false", "npm_config_progress=false", "PNPM_UPDATE_NOTIFIER=false",

		"GIT_TERMINAL_PROMPT=0", "YARN_ENABLE_TELEMETRY=0", "YARN_ENABLE_PROGRESS_BARS=0", "TF_INPUT=0",
		"NO_COLOR=1", "PYTHONUNBUFFERED=1", "PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "TF_IN_AUTOMATION=1", "GH_PROMPT_DISABLED=1",
		"COMPOSER_NO_INTERACTION=1", "CLOUDSDK_CORE_DISABLE_PROMPTS=1",

		"TERM=dumb", "GPG_TTY=not a tty", "SSH_ASKPASS=/usr/bin/false", "CARGO_TERM_PROGRESS_WHEN=never", "DEBIAN_FRONTEND=noninteractive",
	}
	if ci {
		env = append(env, ciMark)
	}
	return env
}

// AgentBase returns the environment around an agent's command in the shell sh, an
// absolute path. It is env without macOS allocator debugging, and with variables
// that keep programs from asking. A front end adds those that mark its own agent.
func AgentBase(env []string, sh string, ci bool) []string {
	kept := make([]string, 0, len(env)+4)
	for _, entry := range env {
		if !strings.HasPrefix(entry, "MallocStackLogging") {
			kept = append(kept, entry)
		}
	}
	marks := []string{"SHELL=" + sh, "GIT_EDITOR=true", "GPG_TTY=not a tty"}
	if ci {
		marks = append(marks, ciMark)
	}
	return Overlay(kept, marks)
}

// Overlay puts the layers over under. A repeated name keeps its first position and its
// last value; invalid entries are left out. The env of a call therefore wins as the
// last layer.
func Overlay(under []string, over ...[]string) []string {
	e := newEnvironment(len(under))
	all := func(string) bool { return true }
	e.inherit(under, all)
	for _, layer := range over {
		e.inherit(layer, all)
	}
	return e.entries
}

// firstOf returns the value of the first name that is set and not empty.
func firstOf(env []string, names ...string) string {
	for _, name := range names {
		if value := Value(env, name); value != "" {
			return value
		}
	}
	return ""
}
