package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"troupe/messages"
	"troupe/spill"
)

// warnOutputFull reports once that the command waits because its output cannot be
// stored: it would look idle. If waiting is useless it stops the command. The returned
// function ends it.
func (g *foreground) warnOutputFull(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !g.host.blocked(ctx) {
			return
		}
		job, err := g.host.job(ctx)
		switch {
		case err != nil: // the job has ended
		case atLimit(g.request.Quota, job):
			g.screen.Notef("the output has reached its limit of %s: the command waits; Ctrl-C stops it", humanize.IBytes(uint64(g.request.Quota.Bytes)))
		case !g.host.ours:
			g.screen.Notef("the daemon cannot store the output: the command waits until it can; troupe doctor may show why, Ctrl-C stops it")
		default:
			g.warnNoSpace()
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// atLimit reports whether the command waits at the limit of its own quota. Otherwise
// the disk is full before that limit.
func atLimit(q messages.Quota, job messages.Record) bool {
	return q.Policy == string(spill.Pause) && slices.ContainsFunc(job.Output, func(out messages.StreamOutput) bool {
		return out.Bytes >= q.Bytes
	})
}

// warnNoSpace reports that the output waits for space, or aborts if there can be none.
func (g *foreground) warnNoSpace() {
	if err := probeStore(); err != nil {
		g.abort(err)
		return
	}
	g.screen.Notef("cannot store the output in %s: the command waits until this is possible; troupe doctor may show why, Ctrl-C stops it", os.TempDir())
}

// probeStore returns an error if output can never be stored: TMPDIR is missing or not
// writable. It opens a new store, since the node's directory may be older than the
// cause. A full disk is no such error.
func probeStore() error {
	store, err := spill.OpenStore(spill.Options{Node: fmt.Sprintf("probe-%d", os.Getpid())})
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.Dir()
	for _, never := range []error{unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.EPERM, unix.EROFS, unix.ELOOP} {
		if errors.Is(err, never) {
			return fmt.Errorf("cannot store the output in %s: %w; set TMPDIR to a directory of yours", os.TempDir(), never)
		}
	}
	return nil
}
