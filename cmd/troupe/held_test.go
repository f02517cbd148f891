package main

import (
	"syscall"
	"testing"
)

// A command that waits because its output has no place looks like one that has
// nothing to do; so it is said, and how to end it.
func TestACommandThatWaitsForRoomSaysSo(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		tmp  string
		args []string
		want string
	}{
		"limit":        {"", []string{"run", "--max-output", "1000:pause", "yes"}, "troupe: the output has reached its limit of 1000 B: the command waits; Ctrl-C ends it\n"},
		"object":       {"", []string{"run", "--json", "--max-output", "1000:pause", "yes"}, "troupe: the output has reached its limit of 1000 B: the command waits; Ctrl-C ends it\n"},
		"no directory": {"/nowhere", []string{"run", "yes"}, "troupe: the output cannot be stored in /nowhere: the command waits until it can; troupe doctor may say why, Ctrl-C ends it\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, at.args...)
			if at.tmp != "" {
				p.Env = append(p.Env, "TMPDIR="+at.tmp)
			}
			out := &lines{news: make(chan struct{}, 1)}
			p.Stdout = out
			p.start()
			p.err.has(t, at.want)
			p.send(syscall.SIGINT)
			p.ends(130)
		})
	}
}
