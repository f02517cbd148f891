package backends_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/messages"
)

func TestShellMeta(t *testing.T) {
	p := backends.ExecutorSpec{
		Scope: "main/sub", Session: "s1", Dir: "/tmp/a \"b\"\n", Env: []string{"SECRET=hidden"}, Umask: -1, Shell: "zsh",
		Terminal: messages.Terminal{Rows: 24, Cols: 80}, Limits: messages.Limits{Rlimits: []string{"core=0:0"}},
	}
	text := backends.ShellMeta(p, "shell")
	if bytes.Contains(text, []byte("hidden")) || len(text) > backends.MaxMeta {
		t.Errorf("the meta is %q", text)
	}
	p.Env = nil
	got, backend, ok := backends.ReadShellMeta(text)
	if !ok || backend != "shell" || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v of %q, %v; want %+v", got, backend, ok, p)
	}
	p.Dir = strings.Repeat("/d", backends.MaxMeta)
	text = backends.ShellMeta(p, "shell-pty")
	got, backend, ok = backends.ReadShellMeta(text)
	if !ok || backend != "shell-pty" || len(text) > backends.MaxMeta || got.Dir != "" || got.Session != p.Session {
		t.Errorf("with a long directory: %+v of %q, %v, %d bytes", got, backend, ok, len(text))
	}
	p.Limits.CPUs = strings.Repeat("0", backends.MaxMeta) // longer than any of a request
	text = backends.ShellMeta(p, "shell-pty")
	got, backend, ok = backends.ReadShellMeta(text)
	if !ok || backend != "shell-pty" || len(text) > backends.MaxMeta || !got.Limits.IsZero() || got.Session != p.Session {
		t.Errorf("with long limits: %+v of %q, %v, %d bytes", got, backend, ok, len(text))
	}
	for _, meta := range []string{"", "meta", "{}", "\xa0", "\xa1\x01\xa1\x01\x62j1"} {
		if _, _, ok := backends.ReadShellMeta([]byte(meta)); ok {
			t.Errorf("%q is taken for the meta of a shell", meta)
		}
	}
}
