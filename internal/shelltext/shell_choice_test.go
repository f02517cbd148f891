package shelltext_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// disk knows which files can be executed.
func disk(files ...string) func(string) bool {
	return func(path string) bool { return slices.Contains(files, path) }
}

func TestShellIsSelected(t *testing.T) {
	all := disk("/bin/bash", "/bin/sh", "/usr/bin/zsh", "/opt/bash5", "/usr/bin/fish", "/opt/rc", "/own/bin/bash", "/usr/local/bin/bash")
	for _, c := range []struct {
		name    string
		setting string
		host    []string
		lookup  func(string) bool
		want    string
	}{
		{"the setting", "/opt/rc", []string{"SHELL=/bin/bash"}, all, "/opt/rc"},
		{"the user's bash", "", []string{"SHELL=/opt/bash5"}, all, "/opt/bash5"},
		{"the user's zsh", "", []string{"SHELL=/usr/bin/zsh", "PATH=/bin"}, all, "/usr/bin/zsh"},
		{"never fish", "", []string{"SHELL=/usr/bin/fish", "PATH=/usr/bin:/bin"}, all, "/bin/bash"},
		{"the user's is gone", "", []string{"SHELL=/gone/zsh", "PATH=/own/bin"}, all, "/own/bin/bash"},
		{"a relative one is none", "", []string{"SHELL=bash", "PATH=bin::."}, all, "/bin/bash"},
		{"no PATH", "", nil, disk("/usr/local/bin/bash", "/bin/sh"), "/usr/local/bin/bash"},
		{"no bash", "", []string{"PATH=/opt"}, disk("/bin/sh"), "/bin/sh"},
		{"nothing", "", []string{"PATH=/opt"}, disk(), "sh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := shelltext.Select(shelltext.Setting{Path: c.setting, Where: "shell_path"}, c.host, c.lookup)
			if err != nil || got.Path != c.want || !slices.Equal(got.Argv("echo"), []string{c.want, "-l", "-c", "echo"}) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	for _, name := range []string{"TROUPE_SHELL_NO_LOGIN", "PI_BASH_NO_LOGIN", "CLAUDE_BASH_NO_LOGIN"} {
		if got, _ := shelltext.Select(shelltext.Setting{}, []string{name + "=1", "PATH=/bin"}, all); !slices.Equal(got.Argv("x"), []string{"/bin/bash", "-c", "x"}) {
			t.Errorf("%s: %q", name, got.Argv("x"))
		}
		if got, _ := shelltext.Select(shelltext.Setting{}, []string{name + "=", "PATH=/bin"}, all); !slices.Equal(got.Words, []string{"-l", "-c"}) {
			t.Errorf("an empty %s: %q", name, got.Words)
		}
	}
}

// The path and where to change it are in the error.
func TestBadInputShellSetting(t *testing.T) {
	for _, path := range []string{"/gone/bash", "bash", "./bash"} {
		_, err := shelltext.Select(shelltext.Setting{Path: path, Where: "shellPath in settings.json"}, []string{"PATH=/bin"}, disk("/bin/bash", "bash"))
		if !errors.Is(err, &messages.Error{Code: messages.InvalidParams, Reason: "invalid_shell"}) ||
			!strings.Contains(err.Message, path) || !strings.Contains(err.Hint, "shellPath in settings.json") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A command that a user types with ! runs in the user's login shell, whichever it is.
func TestLoginShellIsSelected(t *testing.T) {
	for _, c := range []struct {
		host   []string
		lookup func(string) bool
		want   []string
	}{
		{[]string{"SHELL=/usr/bin/fish"}, disk("/usr/bin/fish", "/bin/sh"), []string{"/usr/bin/fish", "-l", "-c", "x"}},
		{[]string{"SHELL=/gone/fish"}, disk("/bin/sh", "/bin/bash"), []string{"/bin/sh", "-l", "-c", "x"}},
		{[]string{"SHELL=fish"}, disk("fish", "/bin/sh"), []string{"/bin/sh", "-l", "-c", "x"}},
		{nil, disk(), []string{"sh", "-l", "-c", "x"}},
		{[]string{"SHELL=/bin/zsh", "CLAUDE_BASH_NO_LOGIN=1"}, disk("/bin/zsh"), []string{"/bin/zsh", "-c", "x"}},
	} {
		if got := shelltext.SelectLogin(c.host, c.lookup).Argv("x"); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.host, got, c.want)
		}
	}
}

func TestShellKind(t *testing.T) {
	for path, want := range map[string]string{
		"/bin/bash": shelltext.Bash, "/opt/bash-5.3": shelltext.Bash, "/usr/bin/zsh": shelltext.Zsh, "/bin/sh": shelltext.Sh, "dash": shelltext.Sh, "-zsh": shelltext.Zsh,
		"/usr/bin/fish": "", "/bin/csh": "", "": "", "/bash/x": "",
	} {
		if got := shelltext.Kind(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestPrefix(t *testing.T) {
	for _, c := range []struct {
		host []string
		want string
	}{
		{[]string{"CLAUDE_CODE_SHELL_PREFIX=c", "PI_SHELL_PREFIX=p", "TROUPE_SHELL_PREFIX=t"}, "t"},
		{[]string{"CLAUDE_CODE_SHELL_PREFIX=c", "PI_SHELL_PREFIX=p", "TROUPE_SHELL_PREFIX="}, "p"},
		{[]string{"CLAUDE_CODE_SHELL_PREFIX=c"}, "c"},
		{nil, ""},
	} {
		if got := shelltext.Prefix(c.host); got != c.want {
			t.Errorf("%q: got %q", c.host, got)
		}
	}
	if got := shelltext.Prefixed("nice -n 5", "a && b"); got != "nice -n 5 a && b" {
		t.Errorf("got %q", got)
	}
	if got := shelltext.Prefixed("", "a"); got != "a" {
		t.Errorf("got %q", got)
	}
	for prefix, bad := range map[string]bool{"": false, "nice": false, " \t": true, "a\nb": true, "a\rb": true, "a\x00": true, strings.Repeat("x", 4097): true} {
		err := shelltext.CheckPrefix(prefix, "the setting prefix")
		if (err != nil) != bad || bad && (err.Reason != "prefix" || !strings.Contains(err.Hint, "the setting prefix")) {
			t.Errorf("%.10q: %v", prefix, err)
		}
	}
}

// Equal keys have equal digests, whatever the order; any difference shows.
func TestReuseKey(t *testing.T) {
	base := shelltext.ReuseKey{Shell: "/bin/bash", Prefix: "p", Snapshot: "/s.sh", Env: []string{"A=1", "B=2"}, Session: shelltext.SessionKey("s"), Options: []string{"x", "y"}}
	same := base
	same.Env, same.Options = []string{"B=0", "A=1", "B=2"}, []string{"y", "x", "x"}
	if base.Digest() != same.Digest() || len(base.Digest()) != 64 {
		t.Errorf("%s and %s", base.Digest(), same.Digest())
	}
	const pinned = "f993314de9b081d7a24950cd7adec6d71625ba5dafa4184b8ccfcf14676c374c"
	if got := base.Digest(); got != pinned {
		t.Errorf("the digest is %s, and was %s in other versions", got, pinned)
	}
	seen := map[string]int{base.Digest(): -1}
	for i, change := range []func(*shelltext.ReuseKey){
		func(k *shelltext.ReuseKey) { k.Shell = "/bin/zsh" }, func(k *shelltext.ReuseKey) { k.Prefix = "" }, func(k *shelltext.ReuseKey) { k.Snapshot = "" },
		func(k *shelltext.ReuseKey) { k.Env = []string{"A=1"} }, func(k *shelltext.ReuseKey) { k.Env = []string{"A=1B=2"} }, func(k *shelltext.ReuseKey) { k.Env = []string{"A=1", "B=2", "x"}; k.Options = k.Options[1:] },
		func(k *shelltext.ReuseKey) { k.Session = shelltext.JobKey("s", "j1") }, func(k *shelltext.ReuseKey) { k.Session = shelltext.JobKey("s", "j2") },
		func(k *shelltext.ReuseKey) { k.Options = nil }, func(k *shelltext.ReuseKey) { k.Shell, k.Prefix = "/bin/bashp", "" },
		func(k *shelltext.ReuseKey) { k.Env, k.Options = []string{"A=1"}, []string{"B=2", "x", "y"} },
	} {
		k := base
		change(&k)
		if j, ok := seen[k.Digest()]; ok {
			t.Errorf("change %d has the digest of %d", i, j)
		}
		seen[k.Digest()] = i
	}
	if got := shelltext.JobKey("s1", "j7"); got != "s1:async:j7" {
		t.Errorf("got %q", got)
	}
}

func FuzzReuseKey(f *testing.F) {
	f.Add("/bin/bash", "", "A=1\nB=2", "s", "x")
	f.Fuzz(func(t *testing.T, sh, prefix, env, session, options string) {
		k := shelltext.ReuseKey{Shell: sh, Prefix: prefix, Env: strings.Split(env, "\n"), Session: session, Options: strings.Split(options, "\n")}
		turned := k
		turned.Env = shelltext.Overlay(nil, k.Env)
		slices.Reverse(turned.Env)
		turned.Options = slices.Clone(k.Options)
		slices.Reverse(turned.Options)
		if k.Digest() != turned.Digest() {
			t.Fatalf("the order of %+v matters", k)
		}
		turned.Prefix += "x"
		if k.Digest() == turned.Digest() {
			t.Fatalf("the prefix of %+v does not matter", k)
		}
	})
}
