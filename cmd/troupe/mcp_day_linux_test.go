package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/internal/test/need"
)

// chore is one command of a day, and what it must answer.
type chore struct {
	args   params
	output string
	code   int
}

// choreOf is the command of a day with a number; shell is a session that no other day
// uses.
func choreOf(i int, shell string) chore {
	switch i % 8 {
	case 0:
		return chore{params{"command": fmt.Sprintf("echo hello %d", i)}, fmt.Sprintf("hello %d\n", i), 0}
	case 1:
		return chore{params{"command": fmt.Sprintf("echo no; exit %d", i%200+1)}, "no\n", i%200 + 1}
	case 2:
		return chore{params{"command": "seq 1 3000"}, numbered(3000), 0}
	case 3:
		return chore{params{"command": "echo out; echo err >&2; kill -9 $$"}, "out\nerr\n", 137}
	case 4:
		return chore{params{"command": "tr a-z A-Z; exit 3", "stdin": strings.Repeat("some words\n", 1500)}, strings.Repeat("SOME WORDS\n", 1500), 3}
	case 5:
		return chore{params{"argv": []string{"printf", "%s|", "a b", "$HOME", "*", ""}}, "a b|$HOME|*||", 0}
	case 6:
		return chore{params{"command": "echo 'héllo 世界 🎭' | cat; (exit 4)"}, "héllo 世界 🎭\n", 4}
	}
	return chore{params{"command": "n=$((n + 1)); echo $n", "session": shell}, fmt.Sprintf("%d\n", i/8+1), 0}
}

func numbered(n int) string {
	var b strings.Builder
	sequence(&b, n)
	return b.String()
}

// A day of work: many commands, a few at a time, each with its own output and exit
// code, over every transport and revision; nothing is left of them, and the server
// holds no more than before.
func TestMCPDayOfWork(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	rounds := 16
	if need.Soak() {
		rounds = 400
	}
	for _, revision := range []string{withSessions, withRounds} {
		for over, connect := range map[string]func() *agent{
			"stdio": func() *agent { return d.agent(revision, nil) },
			"http":  func() *agent { return web.agent("day", revision, nil) },
		} {
			t.Run(over+" "+revision, func(t *testing.T) {
				a := connect()
				require.NoError(t, inTurns(4, 4, func(w int) error { return a.works(fmt.Sprint("shell", w), rounds) }))
				all := mustCall[core.Jobs](a, "list", params{"all": true})
				require.Len(t, all.Jobs, 4*rounds)
				require.Len(t, all.Sessions, 4)
				require.Empty(t, mustCall[core.Jobs](a, "list", nil).Jobs)
				if over == "http" {
					require.NoError(t, a.Close())
					return
				}
				a.server.send(syscall.SIGABRT) // says its stacks
				<-a.server.ended
				stacks := strings.Count(a.server.err.String(), "\ngoroutine ")
				require.Positive(t, stacks)
				require.Less(t, stacks, 40)
			})
		}
	}
}

// works does some commands of a day, one after the other.
func (a *agent) works(shell string, n int) error {
	for i := range n {
		want := choreOf(i, shell)
		got, text, err := ask[core.RunResult](a.t.Context(), a, "run", want.args)
		switch {
		case err != nil:
			return fmt.Errorf("%v: %w", want.args, err)
		case got.Output != want.output || got.Running || got.ExitCode == nil || *got.ExitCode != want.code:
			return fmt.Errorf("%v has answered %q, %+v", want.args, got.Output, got)
		case !strings.HasPrefix(text, got.Output) || !strings.Contains(text, got.JobID):
			return fmt.Errorf("%v says %q, and is %q of %s", want.args, text, got.Output, got.JobID)
		case len(got.Notifications) > 0:
			return fmt.Errorf("%v brings the notices %+v", want.args, got.Notifications)
		}
	}
	return nil
}
