package pipe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/backends/pipe"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// What is runnable without a look is what Check finds nothing wrong with, once it
// has looked: the usual case waits for nothing.
func TestRunnableIsWhatCheckFinds(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH")}
	s := open(t, fake.New(fake.Options{}), pipe.Options{}, backends.ExecutorSpec{Dir: dir})
	usual := backends.Command{Text: "true", Env: env}
	if s.Runnable(usual) {
		t.Error("it is sure of a shell that nobody has looked for")
	}
	if err := s.Check(usual); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		command backends.Command
		want    bool
	}{
		{"usual", usual, true},
		{"argv", backends.Command{Argv: []string{"true"}, Dir: "/", Env: env}, true},
		{"no directory", backends.Command{Text: "true", Dir: filepath.Join(dir, "gone"), Env: env}, false},
		{"a file", backends.Command{Text: "true", Dir: file, Env: env}, false},
		{"relative", backends.Command{Text: "true", Dir: "x", Env: env}, false},
		{"another PATH", backends.Command{Text: "true", Env: []string{"PATH=" + dir}}, false},
		{"no shell", backends.Command{Text: "true", Shell: "nope", Env: env}, false},
		{"nothing", backends.Command{Env: env}, false},
		{"long", backends.Command{Text: strings.Repeat("x", pipe.MaxWord+1), Env: env}, false},
		{"detached", backends.Command{Text: "true", Detach: true, Env: env}, false},
		{"terminal", backends.Command{Text: "true", Stdio: backends.Stdio{Terminal: messages.Terminal{Rows: 1, Cols: 1}}, Env: env}, true},
		{"no such terminal", backends.Command{Text: "true", Stdio: backends.Stdio{Terminal: messages.Terminal{Rows: 1}}, Env: env}, false},
	} {
		if got := s.Runnable(c.command); got != c.want {
			t.Errorf("%s: runnable %v; want %v", c.name, got, c.want)
		}
		if err := s.Check(c.command); c.want && err != nil {
			t.Errorf("%s: it is runnable, and %v", c.name, err)
		}
	}
}
