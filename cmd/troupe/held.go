package main

import (
	"context"
	"os"

	"github.com/dustin/go-humanize"

	"troupe"
	"troupe/messages"
	"troupe/spill"
)

// tellHeld says once that the command waits because its output cannot be
// stored: it would look as if it had nothing to do. It listens until the
// function that it returns is called.
func (g *foreground) tellHeld(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		facts, err := g.node.Subscribe(context.Background(), messages.Subscribe{Filter: messages.Filter{Job: g.job}})
		if err != nil {
			return // the node has ended, and says so itself
		}
		defer func() { _ = facts.Close() }() // an open one would delay the end of the node
		if g.awaitHeld(ctx, facts) {
			g.screen.say("%s", heldText(g.request.Quota, os.TempDir()))
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// awaitHeld waits for the fact, or for the end.
func (g *foreground) awaitHeld(ctx context.Context, facts *troupe.Subscription) bool {
	for {
		m, err := facts.Next(ctx)
		if err != nil {
			return false
		}
		n, _ := m.(messages.Notification)
		if changed, ok := n.Fact.(messages.CommandChanged); ok && changed.Job.HasFlag(messages.FlagLogBlocked) {
			return true
		}
	}
}

// heldText says what the command waits for: a limit that was asked for, or a
// place that takes no more, whose path is in TMPDIR.
func heldText(q messages.Quota, dir string) string {
	if q.Policy == string(spill.Pause) {
		return "the output has reached its limit of " + humanize.IBytes(uint64(q.Bytes)) + ": the command waits; Ctrl-C ends it"
	}
	return "the output cannot be stored in " + dir + ": the command waits until it can; troupe doctor may say why, Ctrl-C ends it"
}
