package troupe

import (
	"context"
	"errors"
	"io"
	"os"

	"troupe/actors"
	"troupe/messages"
	"troupe/spill"
)

// Output follows one stream of a job from the byte offset from: it reads what
// is there, waits for what comes, and ends with io.EOF when no process can
// write any more. Reading never holds the job back. The reader is a *Follower.
// Close it; ctx ends it too.
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
	f.log, _ = f.open() // now, if it is there: what is opened can be read to its end, whatever is forgotten meanwhile
	return f, nil
}

// Follower reads a log that grows. It holds no goroutine: while there is
// nothing to read, one question to the job's sink is open. It is for one
// goroutine.
type Follower struct {
	node   *Node
	ctx    context.Context //nolint:containedctx // a reader's Read takes none
	job    messages.JobID
	uid    messages.UID
	stream messages.Stream
	offset int64
	limit  int64 // 0: none; else read no further than this byte
	log    spill.Log
	gaps   []messages.OutputGap
	closed bool
}

// Until ends the reader with io.EOF at the byte end, although more may come.
func (f *Follower) Until(end int64) *Follower {
	f.limit = max(end, f.offset)
	if end <= f.offset {
		f.limit = -1
	}
	return f
}

// Offset is the byte that the next Read begins with.
func (f *Follower) Offset() int64 { return f.offset }

// Gaps are the ranges that were left out so far, because they were not kept.
func (f *Follower) Gaps() []messages.OutputGap { return f.gaps }

// Removed reports whether nothing of the output is kept any more: Gaps has all
// of it.
func (f *Follower) Removed() bool { return spill.IsMissing(f.log) }

// Read implements io.Reader. Behind Close it is os.ErrClosed.
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
		if err := f.wait(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// read takes what is there: 0 and no error when that is nothing yet.
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
	if err := spill.ErrOf(f.log); err != nil {
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

// open opens the log. One of a job that is over and was let go is a gap.
func (f *Follower) open() (spill.Log, error) {
	log, err := f.node.logs.Open(string(f.uid), uint8(f.stream))
	if err == nil {
		_ = log.State() // one that lives elsewhere is only now asked for
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

// skip moves over a gap at the offset, and says how many bytes follow before
// the next one.
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

// wait asks the job's sink to be told when there is more.
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
	switch st := f.log.State(); { // the job was forgotten, and its log is open here
	case !st.Closed:
		return err
	case st.Size <= f.offset:
		return io.EOF
	}
	return nil
}

// Read shows one view of what a job has written. It asks again, as a Follower
// does, when a part of the node was being made anew; what cannot be shown is an
// error with a code (*messages.Error).
func (n *Node) Read(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	reply, err := insist(ctx, n.Ask, 0, func() messages.Refusable { return r })
	if err != nil {
		return messages.OutputPage{}, err
	}
	if page, ok := reply.(messages.OutputPage); ok {
		return page, nil
	}
	return messages.OutputPage{}, messages.Refusal(reply)
}

// Screen tells what the terminal of a job shows. A job without one is unsupported, with
// the reason terminal.
func (n *Node) Screen(ctx context.Context, id messages.JobID) (messages.ScreenText, error) {
	reply, err := insist(ctx, n.Ask, 0, func() messages.Refusable { return messages.ReadScreen{Job: id} })
	if err != nil {
		return messages.ScreenText{}, err
	}
	if screen, ok := reply.(messages.ScreenText); ok {
		return screen, nil
	}
	return messages.ScreenText{}, messages.Refusal(reply)
}

// Close implements io.Closer.
func (f *Follower) Close() error {
	f.closed = true
	if f.log == nil {
		return nil
	}
	return f.log.Close()
}
