package main

import (
	"context"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
)

// person answers what a command asks for.
type person struct {
	answers   []*sdk.ElicitResult // one after the other; the last of them to all that follow
	questions atomic.Int32
	saw       chan string
}

func newPerson(answers ...*sdk.ElicitResult) *person {
	return &person{answers: answers, saw: make(chan string, 16)}
}

func line(text string) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: params{"input": text}}
}

func (p *person) client() *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		p.saw <- r.Params.Message
		n := min(int(p.questions.Add(1)), len(p.answers))
		return p.answers[n-1], nil
	}}
}

// everywhere does something with an agent of each revision over each transport.
func everywhere(t *testing.T, d *process, o func() *sdk.ClientOptions, do func(t *testing.T, a *agent)) {
	web := d.port()
	for _, revision := range []string{withSessions, withRounds} {
		t.Run("stdio "+revision, func(t *testing.T) {
			a := d.agent(revision, o())
			a.t = t
			do(t, a)
		})
		t.Run("http "+revision, func(t *testing.T) {
			a := web.agent("somebody", revision, o())
			a.t = t
			do(t, a)
		})
	}
}

// A command that waits for a line gets the answer of the user at the client, each time it
// asks.
func TestMCPAsksForInput(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	everywhere(t, d, newPerson(line("one")).client, func(t *testing.T, a *agent) {
		r := a.run(params{"command": "echo name?; read -r x; echo \"got $x\"; exit 3", "interactive": true, "wait_seconds": 55})
		require.Equal(t, 3, *r.ExitCode)
		require.Equal(t, "name?\ngot one\n", r.Output)
		require.Empty(t, r.Notifications)
	})
	for _, revision := range []string{withSessions, withRounds} {
		p := newPerson(line("one"), line("two words"))
		a := d.agent(revision, p.client())
		r := a.run(params{"command": "echo name?; read -r x; echo age?; read -r y; echo \"got $x, $y\"; exit 3", "interactive": true, "wait_seconds": 55})
		require.Equal(t, "name?\nage?\ngot one, two words\n", r.Output)
		require.Contains(t, <-p.saw, "waits for a line of input. It has written:\nname?")
		require.Contains(t, <-p.saw, "age?")
		require.Empty(t, p.saw)
	}
}

// If the user declines, the call returns the job, which continues and waits for input.
func TestMCPDeclinesToAnswer(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for _, answer := range []*sdk.ElicitResult{{Action: "decline"}, {Action: "cancel"}} {
		everywhere(t, d, newPerson(answer).client, func(t *testing.T, a *agent) {
			r := a.run(params{"command": "echo name?; read -r x; echo \"got $x\"; exit 3", "interactive": true, "wait_seconds": 55})
			require.True(t, r.Running && r.Background)
			require.Equal(t, "input", r.Waiting)
			require.Equal(t, "name?\n", r.Output)
			require.Contains(t, r.Note, "it waits for input: write gives it some")
			w := mustCall[core.RunResult](a, "write", params{"job_id": r.JobID, "text": "me\n", "wait_seconds": 55})
			require.Equal(t, "got me\n", w.Output)
			if w.Running { // its answer came before its end
				require.Equal(t, 3, *a.ended(r.JobID).Jobs[0].ExitCode)
			} else {
				require.Equal(t, 3, *w.ExitCode)
			}
			require.Empty(t, mustCall[core.Jobs](a, "list", nil).Notifications)
		})
	}
}

// The server does not ask a client for a secret: the user types it where no other program
// reads it.
func TestSecurityMCPAsksForNoSecret(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	p := newPerson(line("hunter2"))
	everywhere(t, d, p.client, func(t *testing.T, a *agent) {
		r := a.run(params{"command": "printf 'Password: '; stty -echo; read -r x; echo \"got $x\"", "pty": true, "wait_seconds": 55})
		require.True(t, r.Running)
		require.Equal(t, "secret", r.Waiting)
		require.Contains(t, r.Note, "ask the person to attach with troupe attach "+r.JobID)
		mustCall[core.StopResult](a, "stop", params{"job_ids": []string{r.JobID}, "grace_seconds": 0})
	})
	require.Zero(t, p.questions.Load())
}

// A client that shows no forms has the job handed back at once.
func TestMCPAsksNobody(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	everywhere(t, d, func() *sdk.ClientOptions { return nil }, func(t *testing.T, a *agent) {
		r := a.run(params{"command": "echo name?; read -r x; exit 3", "interactive": true, "wait_seconds": 55})
		require.True(t, r.Running)
		require.Equal(t, "input", r.Waiting)
		w := mustCall[core.RunResult](a, "write", params{"job_id": r.JobID, "eof": true, "wait_seconds": 55})
		require.Equal(t, 3, *w.ExitCode)
	})
}
