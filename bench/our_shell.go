//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"troupe/messages"
)

// ourShell is one live shell of a node. Each command has its exact status, its own
// output, and a subscriber who receives its end.
type ourShell struct {
	*ourNode
	notices
	shell inLiveShell
	n     int
}

// inLiveShell runs commands in the live shell of a session.
type inLiveShell struct {
	node    *ourNode
	session messages.SessionID
	plan    messages.SessionPlan
}

func newOurShell(ctx context.Context, e assignment) (runner, error) {
	return ourShellOn(ctx, e, messages.BackendShell)
}

func newOurShellOnTerminal(ctx context.Context, e assignment) (runner, error) {
	return ourShellOn(ctx, e, messages.BackendShellPTY)
}

func ourShellOn(ctx context.Context, e assignment, backend string) (runner, error) {
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	told, err := h.subscribe(ctx)
	return &ourShell{h, told, liveShell(h, 0, backend), e.Size.RoundTrips}, err
}

func liveShell(h *ourNode, series int, backend string) inLiveShell {
	return inLiveShell{h, messages.SessionID(fmt.Sprintf("live-%d", series)), messages.SessionPlan{Backend: backend, Shell: "bash"}}
}

func (o *ourShell) round(ctx context.Context) (values, error) {
	times := make([]time.Duration, 0, o.n)
	for range o.n {
		start := time.Now()
		job, err := o.shell.command(ctx)
		if err != nil {
			return nil, err
		}
		told, err := o.next(ctx)
		if err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
		if told.UID != job.UID {
			return nil, fmt.Errorf("got the end of %s, want %s", told.ID, job.ID)
		}
	}
	return latencies(times), nil
}

// command runs one command to its end, which must be a success.
func (l inLiveShell) command(ctx context.Context) (messages.Record, error) {
	return l.node.run(ctx, messages.RunCommand{Session: l.session, Program: messages.Program{Text: ":"}, Open: &l.plan})
}
