package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/client"
	"troupe/internal/cli/connect"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
	"troupe/spill/view"
)

// daemonHost runs the command in the daemon. The daemon stops a foreground run when our
// request breaks off. If the daemon ends first, all requests come back to the next one.
type daemonHost struct {
	client   *client.Client
	text     bool          // whether the reply includes the end of the output
	person   bool          // whether stderr is a terminal
	known    chan struct{} // closed when the daemon knows the job
	answered chan struct{} // closed when the daemon has answered the run
	cancel   context.CancelFunc
	once     sync.Once

	mu        sync.Mutex
	replyText *wire.Shown    // text of the reply; nil: none
	joined    messages.JobID // job of another run, found by the idempotency key; "": none
}

func newRemote(c *client.Client, text, person bool) *daemonHost {
	return &daemonHost{client: c, text: text, person: person, known: make(chan struct{}), answered: make(chan struct{}), cancel: func() {}}
}

func (h *daemonHost) submit(r messages.RunCommand) (messages.JobID, func() (messages.Record, error)) {
	r.UID = messages.UID(ulid.Make().String())
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	with := []client.Option{client.WithID(func(messages.JobID) { h.markKnown() })}
	if h.text {
		with = append(with, client.WithText(view.DefaultBytes))
	}
	return messages.JobID(r.UID), func() (messages.Record, error) {
		defer cancel()
		defer h.markKnown() // for a run that joins another, the reply comes first
		defer close(h.answered)
		result, err := connect.RetryBusy(ctx, connect.IsBusy, func() (wire.Result, error) { return h.client.Run(ctx, r, with...) })
		h.mu.Lock()
		h.replyText = result.Text
		if uid := messages.JobID(result.Job.UID); uid != messages.JobID(r.UID) {
			h.joined = uid
		}
		h.mu.Unlock()
		var coded *messages.Error
		switch {
		case err == nil || errors.As(err, &coded):
		case ctx.Err() != nil:
			err = givenUp
		default:
			err = connect.BrokenOff(err)
		}
		return result.Job, err
	}
}

// givenUp is the error of a run that was stopped before the daemon confirmed it.
var givenUp = &messages.Error{Code: messages.Internal, Reason: "interrupted"}

func (h *daemonHost) markKnown() { h.once.Do(func() { close(h.known) }) }

var noSuchJob = &messages.Error{Code: messages.NotFound, Reason: "job"}

// again reports whether a request for the job is repeated: the daemon is busy, or it is the
// next one, which our run has not reached yet. The one before had not recorded the job.
func (h *daemonHost) again(err error) bool {
	select {
	case <-h.answered:
		return connect.IsBusy(err)
	default:
		return connect.IsBusy(err) || errors.Is(err, noSuchJob)
	}
}

// await waits until the daemon knows the job.
func (h *daemonHost) await(ctx context.Context) error {
	select {
	case <-h.known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// name returns the job that one of our ids names.
func (h *daemonHost) name(id messages.JobID) messages.JobID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.joined, id)
}

func (h *daemonHost) job(ctx context.Context, id messages.JobID) (messages.Record, error) {
	return h.client.Job(ctx, h.name(id))
}

// stop stops the job. It drops the request for a job that the daemon does not know yet.
func (h *daemonHost) stop(ctx context.Context, r messages.StopCommand) error {
	select {
	case <-h.known:
	default:
		h.cancel()
		return nil
	}
	r.Job = h.name(r.Job)
	_, err := h.client.Stop(ctx, r)
	if h.again(err) {
		h.cancel() // the daemon stops it with our request, too
	}
	return err
}

func (h *daemonHost) output(ctx context.Context, id messages.JobID, stream messages.Stream, from, to int64) (follower, error) {
	if err := h.await(ctx); err != nil {
		return nil, err
	}
	return &rangeReader{ctx: ctx, client: h.client, again: h.again, job: h.name(id), stream: stream, offset: from, to: to}, nil
}

// blocked asks the daemon only for a user at a terminal: a wait uses a connection.
// Events cannot report it: the daemon sends them after the journal, whose disk may be
// full, has them.
func (h *daemonHost) blocked(ctx context.Context, id messages.JobID) bool {
	if !h.person || h.await(ctx) != nil {
		return false
	}
	end, err := h.client.Await(ctx, messages.WaitJobs{
		Jobs: []messages.JobID{h.name(id)}, Condition: messages.Condition{Kind: messages.UntilBlocked},
	})
	return err == nil && end.Satisfied
}

func (h *daemonHost) count(ctx context.Context, id messages.JobID, stream messages.Stream) (messages.OutputPage, error) {
	page, err := connect.RetryBusy(ctx, connect.IsBusy, func() (wire.Page, error) {
		return h.client.Text(ctx, h.name(id), client.TextView{Stream: stream, Tail: 1, Bytes: 1})
	})
	return messages.OutputPage{Bytes: page.Bytes, Lines: page.Lines, LinesExact: page.LinesExact}, err
}

// view returns the end of a single stream, or of both as the reply had it.
func (h *daemonHost) view(ctx context.Context, job messages.Record) (view.View, error) {
	if len(job.Output) != 1 {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.replyText == nil {
			return view.View{}, &messages.Error{Code: messages.OutputUnavailable, Message: "the daemon sent no text"}
		}
		return view.View{Text: h.replyText.Text, Truncated: h.replyText.Truncated}, nil
	}
	page, err := connect.RetryBusy(ctx, connect.IsBusy, func() (wire.Page, error) {
		return h.client.Text(ctx, messages.JobID(job.UID), client.TextView{Stream: job.Output[0].Stream, Bytes: view.DefaultBytes, Raw: true})
	})
	return view.View{Text: page.Text, Truncated: page.Truncated, Bytes: page.Bytes, Spans: []view.Span{{From: page.From, To: page.To}}}, err
}

func (h *daemonHost) keep(_ messages.Record, out messages.StreamOutput) (string, error) {
	return out.File, nil
}

func (h *daemonHost) shutdown(context.Context, messages.ShutdownNode) error { return h.client.Close() }

func (h *daemonHost) ours() bool { return false }

// rangeReader follows an output by one request for each range. Only the end of a reply
// gives the next offset: bytes that were not kept move it by more than was read.
type rangeReader struct {
	ctx    context.Context //nolint:containedctx // a reader's Read takes none
	client *client.Client
	again  func(error) bool // whether a request is repeated after an error
	job    messages.JobID
	stream messages.Stream
	offset int64
	to     int64 // negative: to the end of the stream
	gaps   []messages.OutputGap

	now   *client.Output // open reply; nil: none
	read  int64          // bytes read from now
	waits bool
	ended bool
	next  time.Time // earliest time of the next request after a wait
}

// pieceEvery is the least time between two waits. A command that prints line by line
// would cost two requests a line, and a client has 100 a second.
const pieceEvery = 50 * time.Millisecond

// Offset implements follower. All bytes before it were read or left out.
func (s *rangeReader) Offset() int64 { return s.offset + s.read }

// Gaps implements follower.
func (s *rangeReader) Gaps() []messages.OutputGap { return s.gaps }

// Read implements io.Reader.
func (s *rangeReader) Read(p []byte) (int, error) {
	for {
		if s.ended || s.to >= 0 && s.offset >= s.to {
			return 0, io.EOF
		}
		var n int
		var err error
		if s.waits {
			err = s.wait()
		} else {
			n, err = s.piece(p)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// wait waits until there is another byte; the next piece starts with it.
func (s *rangeReader) wait() error {
	select {
	case <-time.After(time.Until(s.next)):
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	s.next = time.Now().Add(pieceEvery)
	out, err := s.open(s.ctx, client.Range{Offset: s.offset, Limit: 1, Follow: true})
	if err != nil {
		return err
	}
	defer out.Close()
	next := int64(0)
	if _, err = io.Copy(io.Discard, out); err == nil {
		next, err = out.Next() // the reply is complete
	}
	switch {
	case s.again(err): // it waits on at the next daemon
		return nil
	case err != nil:
		return s.broken(err)
	}
	s.waits, s.ended = false, next <= s.offset
	return nil
}

// piece reads from a reply with the bytes that existed when it was opened.
func (s *rangeReader) piece(p []byte) (int, error) {
	if s.now == nil {
		what := client.Range{Offset: s.offset}
		if s.to >= 0 {
			what.Limit = s.to - s.offset
		}
		var err error
		if s.now, err = s.open(context.WithoutCancel(s.ctx), what); err != nil { // the reply ends by itself, and then has the next offset
			return 0, err
		}
	}
	n, err := s.now.Read(p)
	s.read += int64(n)
	switch {
	case n > 0:
		return n, nil
	case !errors.Is(err, io.EOF):
		return 0, s.broken(err)
	}
	if err := s.moved(s.now); err != nil {
		return 0, err
	}
	s.waits = true
	err = s.now.Close()
	s.now = nil
	return 0, err
}

func (s *rangeReader) open(ctx context.Context, what client.Range) (*client.Output, error) {
	what.Stream = s.stream
	out, err := connect.RetryBusy(s.ctx, s.again, func() (*client.Output, error) { return s.client.Output(ctx, s.job, what) })
	var coded *messages.Error
	if err != nil && s.ctx.Err() == nil && (!errors.As(err, &coded) || coded.Code == messages.ShuttingDown) {
		err = connect.BrokenOff(err)
	}
	return out, err
}

// moved records the next offset and the gaps from the end of a reply.
func (s *rangeReader) moved(out *client.Output) error {
	next, err := out.Next()
	if err != nil {
		return s.broken(err)
	}
	gaps, err := out.Gaps()
	if err != nil {
		return err
	}
	s.gaps, s.offset, s.read = append(s.gaps, gaps...), max(next, s.offset), 0
	return nil
}

// broken returns the error of an incomplete reply.
func (s *rangeReader) broken(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	return connect.BrokenOff(err)
}

// Close implements io.Closer.
func (s *rangeReader) Close() error {
	if s.now == nil {
		return nil
	}
	return s.now.Close()
}

// feed copies our input to the job, as fast as the job reads it.
func (h *daemonHost) feed(ctx context.Context, id messages.JobID, from io.Reader) error {
	if h.await(ctx) != nil || h.started(ctx, id) != nil {
		return nil // the job has ended
	}
	err := h.writer(ctx, id).Copy(from)
	if err == nil {
		err = h.client.CloseInput(ctx, id)
	}
	var coded *messages.Error
	switch {
	case ctx.Err() != nil, !errors.As(err, &coded): // the reply to the run reports a broken connection
		return nil
	case coded.Code == messages.JobFinished, coded.Code == messages.NoInput:
		return nil // the job reads no more
	}
	return fmt.Errorf("cannot forward the input: %w", err)
}

// writer writes to the input of the job, to which only this client writes.
func (h *daemonHost) writer(ctx context.Context, id messages.JobID) *connect.InputWriter {
	return &connect.InputWriter{Command: &connect.Command{Client: h.client, Ctx: ctx}, ID: id, Known: true}
}

// started waits until the job has started or ended.
func (h *daemonHost) started(ctx context.Context, id messages.JobID) error {
	_, err := connect.RetryBusy(ctx, h.again, func() (struct{}, error) { return struct{}{}, h.startedOnce(ctx, id) })
	return err
}

func (h *daemonHost) startedOnce(ctx context.Context, id messages.JobID) error {
	for e, err := range h.client.Events(ctx, messages.Subscribe{Filter: messages.Filter{Job: h.name(id)}}) {
		if err != nil {
			return err
		}
		if e.Job != nil && e.Job.State != messages.Queued && e.Job.State != messages.Starting {
			return nil
		}
	}
	return nil
}
