package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"troupe/internal/cli"
)

// A command that waits because its output has no place looks like one that has
// nothing to do; so it is said, and how to end it.
func TestACommandThatWaitsForRoomSaysSo(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		args []string
		want string
	}{
		"limit":  {[]string{"run", "--max-output", "1000:pause", "yes"}, "troupe: the output has reached its limit of 1000 B: the command waits; Ctrl-C stops it\n"},
		"object": {[]string{"run", "--json", "--max-output", "1000:pause", "yes"}, "troupe: the output has reached its limit of 1000 B: the command waits; Ctrl-C stops it\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, at.args...)
			out := &lines{news: make(chan struct{}, 1)}
			p.Stdout = out
			p.start()
			p.err.has(t, at.want)
			p.send(syscall.SIGINT)
			p.ends(130)
		})
	}
}

// A directory that is missing is not full: the command would wait for ever, and
// is ended. What fits into memory needs none.
func TestACommandDoesNotWaitForADirectoryThatIsMissing(t *testing.T) {
	t.Parallel()
	const want = "troupe: cannot store the output in /nowhere: no such file or directory; set TMPDIR to a directory of yours\n"
	for name, flags := range map[string][]string{
		"live": {"run"}, "object": {"run", "--json"}, "far below a limit": {"run", "--max-output", "1GB:pause"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, append(flags, "echo $$ > pid; exec yes")...)
			p.Env = append(p.Env, "TMPDIR=/nowhere")
			out := &lines{news: make(chan struct{}, 1)}
			p.Stdout = out
			p.start().ends(cli.StatusOwn)
			p.err.has(t, want)
			pid, err := os.ReadFile(p.file("pid"))
			if err != nil {
				t.Fatal(err)
			}
			gone(t, strings.TrimSpace(string(pid)))
		})
	}
	p := program(t, "run", "seq 1 1000")
	p.Env = append(p.Env, "TMPDIR=/nowhere")
	p.start()
	if got := p.rest(); !strings.HasSuffix(got, "\n1000\n") || p.err.String() != "" {
		t.Errorf("it printed %q, and said %q", got, p.err)
	}
	p.ends(0)
}
