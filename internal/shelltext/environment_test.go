package shelltext_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// host is an environment of a machine that has secrets.
func host() []string {
	return []string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_ALL=C", "TERM=xterm", "SHELL=/bin/bash", "USER=u", "LOGNAME=u", "TMPDIR=/tmp",
		"XDG_RUNTIME_DIR=/run", "XDG_API_TOKEN=t", "GITHUB_TOKEN=g", "EDITOR=vi", "LD_PRELOAD=x.so", "OPENAI_API_KEY=k", "LC_broken", "PATHX=1",
	}
}

func TestEnvironment(t *testing.T) {
	allow := host()[:10]
	for _, c := range []struct {
		name    string
		run     messages.RunCommand
		env     []string
		dropped []string
	}{
		{"allow-list", messages.RunCommand{}, allow, []string{"XDG_API_TOKEN", "LC_broken"}},
		{"by name", messages.RunCommand{Env: messages.Env{Policy: messages.EnvAllow}}, allow, []string{"XDG_API_TOKEN", "LC_broken"}},
		{
			"what is named is not dropped",
			messages.RunCommand{Env: messages.Env{Set: []string{"XDG_API_TOKEN=mine", "A=1", "PATH=/usr/bin"}}},
			append(append([]string{"PATH=/usr/bin"}, allow[1:]...), "XDG_API_TOKEN=mine", "A=1"),
			[]string{"LC_broken"},
		},
		{"clean", messages.RunCommand{Env: messages.Env{Policy: messages.EnvClean, Set: []string{"A=1"}, Base: []string{"B=2"}}}, []string{"A=1"}, nil},
		{"nothing", messages.RunCommand{Env: messages.Env{Policy: messages.EnvClean}}, nil, nil},
		{
			"caller: whole, secrets and functions too",
			messages.RunCommand{Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"GITHUB_TOKEN=g", "BASH_FUNC_f%%=() { :; }", "A=x=y", "EMPTY="}}},
			[]string{"GITHUB_TOKEN=g", "BASH_FUNC_f%%=() { :; }", "A=x=y", "EMPTY="},
			nil,
		},
		{
			"caller: dangerous names pass",
			messages.RunCommand{Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"A=1"}, Set: []string{"LD_PRELOAD=x.so", "BASH_ENV=f"}}},
			[]string{"A=1", "LD_PRELOAD=x.so", "BASH_ENV=f"},
			nil,
		},
		{
			"last wins, first place",
			messages.RunCommand{Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"A=1", "B=2", "A=3"}, Set: []string{"C=4", "B=5", "C=6"}}},
			[]string{"A=3", "B=5", "C=6"},
			nil,
		},
		{
			"what is no variable is dropped and named",
			messages.RunCommand{Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"A=1", "noise", "", "=x", "B=\x00", "\x00\xff=1", strings.Repeat("n", 100)}}},
			[]string{"A=1"},
			[]string{"noise", "=", "=", "B", "��", strings.Repeat("n", 64)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, dropped, err := shelltext.Environment(c.run, host())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(env, c.env) || !reflect.DeepEqual(dropped, c.dropped) {
				t.Errorf("got  %q dropped %q\nwant %q dropped %q", env, dropped, c.env, c.dropped)
			}
		})
	}
}

func TestBadInputDangerousNames(t *testing.T) {
	for _, name := range []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "PS4", "IFS", "PYTHONSTARTUP", "BASH_FUNC_ls",
	} {
		for _, policy := range []messages.EnvPolicy{"", messages.EnvAllow, messages.EnvAgent, messages.EnvClean} {
			env, _, err := shelltext.Environment(messages.RunCommand{Env: messages.Env{Policy: policy, Set: []string{"A=1", name + "=x"}}}, nil)
			if !errors.Is(err, &messages.Error{Code: messages.EnvRefused, Reason: name}) || env != nil {
				t.Errorf("%s under %q: %v, %v", name, policy, env, err)
			}
		}
	}
	for _, name := range []string{"LDX", "ENVIRONMENT", "PS1", "OLD_ENV"} {
		if _, _, err := shelltext.Environment(messages.RunCommand{Env: messages.Env{Set: []string{name + "=x"}}}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadInputBrokenEnv(t *testing.T) {
	for _, entry := range []string{"A", "=1", "A=\x00", ""} {
		_, _, err := shelltext.Environment(messages.RunCommand{Env: messages.Env{Policy: messages.EnvCaller, Set: []string{entry}}}, nil)
		if !errors.Is(err, &messages.Error{Code: messages.EnvRefused}) {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

func TestSecuritySecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "GITHUB_TOKEN": true, "TOKENIZERS_PARALLELISM": true, "my_secret": true, "DB_PASSWORD": true,
		"GOOGLE_APPLICATION_CREDENTIALS": true, "API_KEY_ID": false, "PATH": false, "MONKEY": false,
	} {
		if shelltext.Secret(name) != want {
			t.Errorf("Secret(%q) is %t", name, !want)
		}
	}
}

func TestWithSelf(t *testing.T) {
	env := shelltext.WithSelf([]string{"TROUPE_SCOPE=outer", "A=1"}, "main/sub", "build", "j7")
	want := []string{"TROUPE_SCOPE=main/sub", "A=1", "TROUPE_SESSION_ID=build", "TROUPE_JOB_ID=j7"}
	if !reflect.DeepEqual(env, want) {
		t.Errorf("got %q", env)
	}
	if env := shelltext.WithSelf([]string{"TROUPE_SCOPEX=1"}, "main", "", ""); !reflect.DeepEqual(env, []string{"TROUPE_SCOPEX=1", "TROUPE_SCOPE=main"}) {
		t.Errorf("got %q", env)
	}
}

// Whatever is given: each entry of the result is a variable, no name occurs
// twice, what the request names is in it, and nothing else of the host is.
func FuzzEnvironment(f *testing.F) {
	f.Add("allow", "PATH=/bin\nHOME=/", "B=1\nB=2", "A=1")
	f.Add("caller", "", "x\ny=\x00\n=z", "LD_PRELOAD=1")
	f.Add("clean", "LC_TOKEN=1", "", "A")
	f.Add("", "XDG_SECRET=1\nGITHUB_TOKEN=2", "", "XDG_SECRET=3")
	f.Fuzz(func(t *testing.T, policy, hosts, base, asked string) {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, "\n")
		}
		run := messages.RunCommand{Env: messages.Env{Policy: messages.EnvPolicy(policy), Base: split(base), Set: split(asked)}}
		env, dropped, err := shelltext.Environment(run, split(hosts))
		if err != nil {
			if err.Code != messages.EnvRefused || err.Message == "" || env != nil {
				t.Fatalf("%v with %q", err, env)
			}
			return
		}
		value := map[string]string{}
		for _, entry := range env {
			name, v, ok := strings.Cut(entry, "=")
			if _, twice := value[name]; twice || !ok || name == "" || strings.ContainsRune(entry, 0) {
				t.Fatalf("%q in %q", entry, env)
			}
			value[name] = v
		}
		named := map[string]string{}
		for _, entry := range run.Env.Set {
			name, v, _ := strings.Cut(entry, "=")
			named[name] = v
		}
		for name, v := range named {
			if value[name] != v {
				t.Fatalf("%s is %q, want %q", name, value[name], v)
			}
		}
		if run.Env.Policy == messages.EnvCaller {
			return
		}
		for name := range value {
			if _, ok := named[name]; !ok && (shelltext.Secret(name) || run.Env.Policy == messages.EnvClean) {
				t.Fatalf("%s got through", name)
			}
		}
		for _, d := range dropped {
			if len(d) > 3*64 || d == "" {
				t.Fatalf("dropped %q", d)
			}
		}
	})
}

// The policy of agents is the allow-list with what keeps programs from paging, asking and
// drawing, and the call wins.
func TestEnvironmentOfAgents(t *testing.T) {
	allow, allowDropped, _ := shelltext.Environment(messages.RunCommand{}, host())
	env, dropped, err := shelltext.Environment(messages.RunCommand{Env: messages.Env{Policy: messages.EnvAgent, Set: []string{"TERM=xterm", "PAGER=less", "MINE=1"}}}, host())
	if err != nil || !reflect.DeepEqual(dropped, allowDropped) {
		t.Fatalf("%v, dropped %q, want %q", err, dropped, allowDropped)
	}
	if want := shelltext.Overlay(allow, shelltext.NonInteractive(true), []string{"TERM=xterm", "PAGER=less", "MINE=1"}); !slices.Equal(env, want) {
		t.Errorf("got  %q\nwant %q", env, want)
	}
	env, _, _ = shelltext.Environment(messages.RunCommand{Env: messages.Env{Policy: messages.EnvAgent}}, append(host(), "TROUPE_NO_CI=1"))
	if slices.Contains(env, "CI=true") || !slices.Contains(env, "GIT_TERMINAL_PROMPT=0") {
		t.Errorf("without CI: %q", env)
	}
}
