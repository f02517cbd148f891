package node

import (
	"context"
	"errors"
	"io"
	"os"

	"troupe/actors"
	"troupe/host"
	"troupe/messages"
	"troupe/spill"
)

// Output follows one stream of a job from the byte from. It reads what is stored, waits for
// more, and ends with io.EOF when no process can write any more. Reading never pauses the
// job. Close the Follower; the end of ctx ends it too.
func (n *Node) Output(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) (*Follower, error) {
	if from < 0 {
		return nil, messages.Invalid("offset", "the offset is negative; give a number of bytes from the beginning")
	}
	job, err := n.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := actors.OutputLostError(job, stream); err != nil {
		return nil, err
	}
	if err := hasStream(job, stream); err != nil {
		return nil, err
	}
	f := &Follower{node: n, ctx: ctx, job: job.ID, uid: job.UID, stream: stream, offset: from}
	f.log, _ = f.open() // if it exists now; an open log can be read to its end after the job was removed
	return f, nil
}

// Follower reads a log as it grows. It uses no goroutine: a waiting Read is one open request
// to the job's sink. One goroutine may use it.
type Follower struct {
	node   *Node
	ctx    context.Context //nolint:containedctx // a reader's Read takes none
	job    messages.JobID
	uid    messages.UID
	stream messages.Stream
	offset int64
	limit  int64 // byte at which reading ends; 0: none, negative: at once
	log    spill.Log
	gaps   []messages.OutputGap
	closed bool
}

// End ends the reader with io.EOF at a byte, although more may follow.
func (f *Follower) End(at int64) {
	f.limit = max(at, f.offset)
	if at <= f.offset {
		f.limit = -1
	}
}

// Offset returns the byte at which the next Read begins.
func (f *Follower) Offset() int64 { return f.offset }

// Gaps returns the ranges skipped so far, whose bytes were not kept.
func (f *Follower) Gaps() []messages.OutputGap { return f.gaps }

// Removed reports whether no byte of the output is kept any more: Gaps covers all of it.
func (f *Follower) Removed() bool { return spill.IsMissing(f.log) }

// Read implements io.Reader. After Close it returns os.ErrClosed.
func (f *Follower) Read(p []byte) (int, error) {
	if f.closed {
		return 0, os.ErrClosed
	}
	for len(p) > 0 {
		if f.limit < 0 || f.limit > 0 && f.offset >= f.limit {
			return 0, io.EOF
		}
		n, err := f.read(p)
		if n > 0 || err != nil {
			return n, err
		}
		if f.limit > 0 && f.offset >= f.limit { // a gap reaches to the end, or over it
			continue
		}
		if err := f.wait(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// read reads stored bytes. It returns 0 and no error if there are none yet.
func (f *Follower) read(p []byte) (int, error) {
	if f.log == nil {
		log, err := f.open()
		if actors.IsEvicted(err) {
			return 0, nil // the job has not started
		}
		if err != nil {
			return 0, err
		}
		f.log = log
	}
	st := f.log.State()
	if err := spill.ErrOf(f.log); actors.IsEvicted(err) { // removed while it was read: the rest is a gap
		_ = f.log.Close()
		f.log = nil
		return f.read(p)
	} else if err != nil {
		return 0, err
	}
	room := f.skip(st)
	if f.limit > 0 {
		room = min(room, f.limit-f.offset)
	}
	if room <= 0 {
		return 0, nil
	}
	n, err := f.log.ReadAt(p[:min(int64(len(p)), room)], f.offset)
	f.offset += int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// open opens the log. The removed log of a finished job reads as one gap.
func (f *Follower) open() (spill.Log, error) {
	log, err := f.node.logs.Open(string(f.uid), uint8(f.stream))
	if err == nil {
		_ = log.State() // a log of another process is requested only now
		if err = spill.ErrOf(log); err == nil {
			return log, nil
		}
		_ = log.Close()
	}
	if !actors.IsEvicted(err) {
		return nil, err
	}
	job, jerr := f.node.Job(f.ctx, f.job)
	switch {
	case jerr != nil:
		return nil, jerr
	case !job.State.Ended():
		return nil, err
	}
	return actors.OpenArchived(f.node.logs, job, f.stream)
}

// skip moves over a gap at the offset and returns the number of bytes before the next one.
func (f *Follower) skip(st spill.State) int64 {
	room := st.Size - f.offset
	for _, g := range st.Gaps {
		switch {
		case g.To <= f.offset:
		case g.From <= f.offset:
			f.gaps = append(f.gaps, messages.OutputGap{From: f.offset, To: g.To})
			f.offset = g.To
			room = st.Size - f.offset
		default:
			return min(room, g.From-f.offset)
		}
	}
	return room
}

// wait blocks until the log is larger than the offset.
func (f *Follower) wait() error {
	reply, err := f.node.AskAgain(f.ctx, func() messages.Refusable {
		return messages.FollowOutput{Job: f.job, Stream: f.stream, From: f.offset}
	})
	if err != nil {
		return err
	}
	if end, ok := reply.(messages.OutputEnded); ok && end.Size <= f.offset {
		return io.EOF
	}
	err = messages.Refusal(reply)
	if f.log == nil || !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
		return err
	}
	switch st := f.log.State(); { // the job was removed, but its log is open here
	case !st.Closed:
		return err
	case st.Size <= f.offset:
		return io.EOF
	}
	return nil
}

// Read returns one view of what a job has written. Like a Follower it tries again while an
// actor restarts. Errors are *messages.Error.
func (n *Node) Read(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	return host.Ask(ctx, n.Host(), r)
}

// Screen returns what the terminal of a job shows. A job without one is refused with the
// code unsupported and the reason terminal.
func (n *Node) Screen(ctx context.Context, id messages.JobID) (messages.ScreenText, error) {
	return host.Ask(ctx, n.Host(), messages.ReadScreen{Job: id})
}

// Close implements io.Closer.
func (f *Follower) Close() error {
	f.closed = true
	if f.log == nil {
		return nil
	}
	return f.log.Close()
}
