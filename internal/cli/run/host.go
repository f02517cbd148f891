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
	"troupe/host"
	"troupe/internal/cli/connect"
	"troupe/messages"
	"troupe/spill/view"
)

// jobHost runs the command: a node of this process, or the daemon. Most is asked of both in the
// same way; place does the rest.
type jobHost struct {
	host.Host
	place
	daemon *client.Client // nil: Host is a node of this process
	ours   bool           // leftover processes end with us
	counts messages.View  // a view with the exact number of lines
	waits  bool           // a request may wait only for a note to the user

	id       messages.JobID // of the job: its ULID, valid from the submit
	known    chan struct{}  // closed when requests may name the job
	answered chan struct{}  // closed when the run is answered
	cancel   context.CancelFunc
	once     sync.Once

	mu     sync.Mutex
	joined messages.JobID // job of another run, found by the idempotency key; "": none
}

// place does what a node of this process and the daemon do differently.
type place interface {
	// submit sends the request, and calls known when requests may name its job. The returned
	// function waits for the reply, once.
	submit(ctx context.Context, r messages.RunCommand, known func()) func() (messages.Record, error)
	// follow reads a stream from one offset to another (negative: to its end).
	follow(ctx context.Context, h *jobHost, stream messages.Stream, from, to int64) (host.Reader, error)
	// view returns the end of all streams as text; keep names a file that outlives us.
	view(ctx context.Context, job messages.Record) (view.View, error)
	keep(job messages.Record, out messages.StreamOutput) (string, error)
	// pacer returns what pauses the job for a slow reader, and how long the reader may
	// block us before it is used.
	pacer(h *jobHost) (asker, time.Duration)
	// shutdown closes the host; a node of this process stops its jobs.
	shutdown(ctx context.Context, r messages.ShutdownNode) error
}

func newJobHost(of host.Host, by place) *jobHost {
	return &jobHost{Host: of, place: by, known: make(chan struct{}), answered: make(chan struct{}), cancel: func() {}}
}

// submit sends the request. The returned function waits for the reply, once.
func (h *jobHost) submit(r messages.RunCommand) func() (messages.Record, error) {
	r.UID = messages.UID(ulid.Make().String())
	h.id = messages.JobID(r.UID)
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	end := h.place.submit(ctx, r, h.markKnown)
	return func() (messages.Record, error) {
		defer cancel()
		defer h.markKnown() // for a run that joins another, the reply comes first
		defer close(h.answered)
		job, err := end()
		if job.UID != r.UID {
			h.mu.Lock()
			h.joined = messages.JobID(job.UID)
			h.mu.Unlock()
		}
		return job, err
	}
}

func (h *jobHost) markKnown() { h.once.Do(func() { close(h.known) }) }

var noSuchJob = &messages.Error{Code: messages.NotFound, Reason: "job"}

// again reports whether a request for the job is repeated: the daemon is busy, or it is the
// next one, which our run has not reached yet. The one before had not recorded the job.
func (h *jobHost) again(err error) bool {
	select {
	case <-h.answered:
		return connect.IsBusy(err)
	default:
		return connect.IsBusy(err) || errors.Is(err, noSuchJob)
	}
}

// await waits until requests may name the job.
func (h *jobHost) await(ctx context.Context) error {
	select {
	case <-h.known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// name returns the id under which the job is found.
func (h *jobHost) name() messages.JobID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.joined, h.id)
}

func (h *jobHost) job(ctx context.Context) (messages.Record, error) {
	found, err := host.Ask(ctx, h, messages.FindJob{Job: h.name()})
	return found.Job, err
}

// stop stops the job. It drops the request for a job that the daemon does not know yet.
func (h *jobHost) stop(ctx context.Context, grace time.Duration, reason string) {
	select {
	case <-h.known:
	default:
		h.cancel()
		return
	}
	_, err := host.Ask(ctx, h, messages.StopCommand{Job: h.name(), Grace: grace, Reason: reason})
	if h.again(err) {
		h.cancel() // the daemon stops it with our request, too
	}
}

// output reads a stream from one offset to another (negative: to its end).
func (h *jobHost) output(ctx context.Context, stream messages.Stream, from, to int64) (host.Reader, error) {
	if err := h.await(ctx); err != nil {
		return nil, err
	}
	return h.follow(ctx, h, stream, from, to)
}

// blocked waits until the output of the job is blocked; false: it is not known. Events cannot
// report it: the daemon sends them after the journal, whose disk may be full, has them.
func (h *jobHost) blocked(ctx context.Context) bool {
	if !h.waits || h.await(ctx) != nil {
		return false
	}
	end, err := host.Ask(ctx, h, messages.WaitJobs{
		Jobs: []messages.JobID{h.name()}, Condition: messages.Condition{Kind: messages.UntilBlocked},
	})
	return err == nil && end.Satisfied
}

// count counts the lines of a stream.
func (h *jobHost) count(ctx context.Context, stream messages.Stream) (messages.OutputPage, error) {
	return connect.RetryBusy(ctx, connect.IsBusy, func() (messages.OutputPage, error) {
		return host.Ask(ctx, h, messages.ReadOutput{Job: h.name(), Stream: stream, View: h.counts})
	})
}

// session returns the current state of a job's session, and whether the session exists.
func (h *jobHost) session(ctx context.Context, job messages.Record) (messages.SessionInfo, bool) {
	in, is, err := findSession(ctx, h, cmp.Or(job.Scope, messages.MainScope), job.Session)
	return in, is && err == nil
}

// started waits until the job has started or ended.
func (h *jobHost) started(ctx context.Context) error {
	if err := h.await(ctx); err != nil {
		return err
	}
	_, err := connect.RetryBusy(ctx, h.again, func() (struct{}, error) { return struct{}{}, h.startedOnce(ctx) })
	return err
}

func (h *jobHost) startedOnce(ctx context.Context) error {
	for n, err := range h.Events(ctx, messages.Subscribe{Filter: messages.Filter{Job: h.name()}}) {
		if err != nil {
			return err
		}
		if of, is := n.Fact.(messages.CommandFact); is && of.Record().State != messages.Queued && of.Record().State != messages.Starting {
			return nil
		}
	}
	return nil
}

// writer writes to the input of the job, to which only this client writes.
func (h *jobHost) writer(ctx context.Context) *connect.InputWriter {
	return &connect.InputWriter{Ctx: ctx, Host: h, ID: h.id, Known: true}
}

// closeInput ends the input of the job.
func (h *jobHost) closeInput(ctx context.Context) error {
	_, err := host.Ask(ctx, h, messages.CloseInput{Job: h.id})
	return err
}

// feed copies our input to the job, as fast as the job reads it.
func (h *jobHost) feed(ctx context.Context, from io.Reader) error {
	if h.started(ctx) != nil {
		return nil // the job has ended
	}
	err := h.writer(ctx).Copy(from)
	if err == nil {
		err = h.closeInput(ctx)
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
