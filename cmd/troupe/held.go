package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"troupe"
	"troupe/messages"
	"troupe/spill"
)

// tellHeld says once that the command waits because its output cannot be
// stored: it would look as if it had nothing to do. Where waiting does not help
// the command is ended. It listens until the function that it returns is called.
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
		if !g.awaitHeld(ctx, facts) {
			return
		}
		dir := os.TempDir()
		if err := homeless(dir); err != nil && g.request.Quota.Policy != string(spill.Pause) {
			g.homeless <- err
			return
		}
		g.screen.say("%s", heldText(g.request.Quota, dir))
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

// homeless says why there can be no place for outputs in a directory, however
// long one waits: it is missing, or not ours to write. Full is another matter.
func homeless(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, fmt.Sprintf("troupe-%d", os.Geteuid()))); err == nil {
		return nil
	}
	probe, err := os.MkdirTemp(dir, "troupe-probe-")
	if err == nil {
		_ = os.Remove(probe)
		return nil
	}
	for _, never := range []error{unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.EPERM, unix.EROFS, unix.ELOOP} {
		if errors.Is(err, never) {
			return fmt.Errorf("the output cannot be stored in %s: %w; set TMPDIR to a directory of yours", dir, never)
		}
	}
	return nil
}
