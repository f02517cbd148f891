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

// warnOutputFull says once that the command waits because its output cannot be
// stored: it would look as if it had nothing to do. Where waiting does not help
// the command is ended. It listens until the function that it returns is called.
func (g *foreground) warnOutputFull(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !g.host.blocked(ctx, g.job) {
			return
		}
		job, err := g.host.job(ctx, g.job)
		switch {
		case err != nil: // it is over
		case atLimit(g.request.Quota, job):
			g.screen.Notef("the output has reached its limit of %s: the command waits; Ctrl-C ends it", humanize.IBytes(uint64(g.request.Quota.Bytes)))
		case !g.host.ours():
			g.screen.Notef("the daemon cannot store the output: the command waits until it can; troupe doctor may say why, Ctrl-C ends it")
		default:
			g.warnNoSpace()
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// atLimit says whether the command waits at a limit that was asked for. Else it
// is the place that takes no more, long before the limit.
func atLimit(q messages.Quota, job messages.Job) bool {
	return q.Policy == string(spill.Pause) && slices.ContainsFunc(job.Output, func(out messages.StreamOutput) bool {
		return out.Bytes >= q.Bytes
	})
}

// warnNoSpace says that the output waits for room, or that there will be none.
func (g *foreground) warnNoSpace() {
	if err := homeless(); err != nil {
		g.abort(err)
		return
	}
	g.screen.Notef("the output cannot be stored in %s: the command waits until it can; troupe doctor may say why, Ctrl-C ends it", os.TempDir())
}

// homeless says why there can be no place for outputs, however long one waits:
// TMPDIR is missing, or what is in it is not ours to write. It does what a node
// does, whose directory may have been made when that was still allowed. Full is
// another matter.
func homeless() error {
	store, err := spill.OpenStore(spill.Options{Node: fmt.Sprintf("probe-%d", os.Getpid())})
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = store.Dir()
	for _, never := range []error{unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.EPERM, unix.EROFS, unix.ELOOP} {
		if errors.Is(err, never) {
			return fmt.Errorf("the output cannot be stored in %s: %w; set TMPDIR to a directory of yours", os.TempDir(), never)
		}
	}
	return nil
}
