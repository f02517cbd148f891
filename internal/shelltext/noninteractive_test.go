package shelltext_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"troupe/internal/shelltext"
)

// values are the variables of an environment in which none occurs twice.
func values(t *testing.T, env []string) map[string]string {
	t.Helper()
	have := map[string]string{}
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		if _, twice := have[name]; twice || !ok {
			t.Errorf("%q is no variable, or there twice", entry)
		}
		have[name] = value
	}
	return have
}

// R-062 word for word: each value, and the names that have it.
func TestNonInteractiveDefaults(t *testing.T) {
	want := map[string]string{}
	for value, names := range map[string]string{
		"cat":            "PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER BAT_PAGER DELTA_PAGER GH_PAGER GLAB_PAGER PSQL_PAGER MYSQL_PAGER HOMEBREW_PAGER",
		"":               "AWS_PAGER",
		"FRX":            "LESS",
		"true":           "CI GIT_EDITOR VISUAL EDITOR npm_config_yes PNPM_DISABLE_SELF_UPDATE_CHECK",
		"false":          "npm_config_update_notifier npm_config_fund npm_config_audit npm_config_progress PNPM_UPDATE_NOTIFIER",
		"0":              "GIT_TERMINAL_PROMPT YARN_ENABLE_TELEMETRY YARN_ENABLE_PROGRESS_BARS TF_INPUT",
		"1":              "NO_COLOR PYTHONUNBUFFERED PIP_NO_INPUT PIP_DISABLE_PIP_VERSION_CHECK TF_IN_AUTOMATION GH_PROMPT_DISABLED COMPOSER_NO_INTERACTION CLOUDSDK_CORE_DISABLE_PROMPTS",
		"dumb":           "TERM",
		"not a tty":      "GPG_TTY",
		"/usr/bin/false": "SSH_ASKPASS",
		"never":          "CARGO_TERM_PROGRESS_WHEN",
		"noninteractive": "DEBIAN_FRONTEND",
	} {
		for _, name := range strings.Fields(names) {
			want[name] = value
		}
	}
	if got := values(t, shelltext.NonInteractive(true)); !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	delete(want, "CI")
	if got := values(t, shelltext.NonInteractive(false)); !maps.Equal(got, want) {
		t.Errorf("without CI got  %v\nwant %v", got, want)
	}
}

func TestAgentBase(t *testing.T) {
	env := []string{"PATH=/bin", "SHELL=/bin/fish", "MallocStackLogging=1", "MallocStackLoggingNoCompact=1", "CI=old", "noise"}
	want := map[string]string{"PATH": "/bin", "SHELL": "/bin/bash", "GIT_EDITOR": "true", "GPG_TTY": "not a tty", "CI": "true"}
	if got := values(t, shelltext.AgentBase(env, "/bin/bash", true)); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	want["CI"] = "old" // what is there is not ours to take away
	if got := values(t, shelltext.AgentBase(env, "/bin/bash", false)); !maps.Equal(got, want) {
		t.Errorf("without CI got %v", got)
	}
	for _, c := range []struct {
		host []string
		want bool
	}{
		{nil, true},
		{[]string{"TROUPE_NO_CI="}, true},
		{[]string{"TROUPE_NO_CI=1"}, false},
		{[]string{"PI_BASH_NO_CI=0"}, false},
		{[]string{"CLAUDE_BASH_NO_CI=x"}, false},
		{[]string{"TROUPE_NO_CIX=1"}, true},
	} {
		if got := shelltext.SetsCI(c.host); got != c.want {
			t.Errorf("%q: %t", c.host, got)
		}
	}
}

// The call wins, over defaults that win over the host's.
func TestCallWinsOverDefaults(t *testing.T) {
	host := []string{"TERM=xterm", "PATH=/bin", "PAGER=less"}
	got := shelltext.Overlay(host, shelltext.NonInteractive(true), []string{"TERM=vt100", "A=1", "CI=0", "=x", "bad\x00=1", "A=2"})
	have := values(t, got)
	for name, want := range map[string]string{"TERM": "vt100", "PAGER": "cat", "CI": "0", "A": "2", "PATH": "/bin", "LESS": "FRX"} {
		if have[name] != want {
			t.Errorf("%s is %q, want %q", name, have[name], want)
		}
	}
	if !slices.Equal(got[:3], []string{"TERM=vt100", "PATH=/bin", "PAGER=cat"}) || !slices.Equal(host, []string{"TERM=xterm", "PATH=/bin", "PAGER=less"}) {
		t.Errorf("got %q; the host's is now %q", got, host)
	}
	if len(have) != len(got) || have["bad\x00"] != "" {
		t.Errorf("got %q", got)
	}
}
