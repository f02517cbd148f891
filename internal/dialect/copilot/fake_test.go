package copilot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// played is a host whose commands are played by a test, in virtual time. It embeds a nil
// Host: what a test does not expect panics.
type played struct {
	dialect.Host
	mu    sync.Mutex
	jobs  map[messages.JobID]*playedJob
	first chan *playedJob // each, as it begins
	stuck bool            // input is not taken
	away  chan struct{}   // closed: the host has gone
	typed []string
	looks func() // is done over each look at an output; nil: nothing
}

type playedJob struct {
	r        messages.RunCommand
	job      messages.Record
	out      string
	promoted chan struct{}
	done     chan struct{}
}

func newPlayed() *played {
	return &played{jobs: map[messages.JobID]*playedJob{}, first: make(chan *playedJob, 100), away: make(chan struct{})}
}

// playedRig is a session over such a host. It is called within a bubble.
func playedRig(t *testing.T, changes ...with) (*rig, *played) {
	t.Helper()
	h := newPlayed()
	r := &rig{t: t, beside: &sync.WaitGroup{}, dir: "/work", told: make(chan Notice, 100)}
	o := Options{Host: h, Beside: r.beside, Dir: "/work", SessionID: "agent-1", Notify: func(n Notice) { r.told <- n }, Env: []string{"PATH=/bin"}}
	for _, change := range changes {
		change(&o)
	}
	r.Session = New(o)
	t.Cleanup(func() {
		require.NoError(t, r.Close(context.Background()))
		r.beside.Wait()
	})
	return r, h
}

func (h *played) Run(ctx context.Context, r messages.RunCommand, _ int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	if bad := r.Check(); bad != nil {
		return messages.Record{}, dialect.Text{}, bad
	}
	j := &playedJob{
		r: r, promoted: make(chan struct{}), done: make(chan struct{}),
		job: messages.Record{ID: "j", UID: r.UID, Session: r.Session, Command: r.Text + strings.Join(r.Argv, " "), State: messages.Running, PID: 4711},
	}
	h.mu.Lock()
	h.jobs[messages.JobID(r.UID)] = j
	h.mu.Unlock()
	if known != nil {
		known(messages.JobID(r.UID))
	}
	h.first <- j
	if r.Mode.Background() {
		return h.record(j), dialect.Text{}, nil
	}
	var budget <-chan time.Time
	if r.PromoteAfter > 0 {
		budget = time.After(r.PromoteAfter)
	}
	select {
	case <-j.done:
	case <-j.promoted:
	case <-budget:
	case <-ctx.Done():
		h.end(j, messages.Record{End: messages.End{Outcome: messages.Cancelled}})
		return h.record(j), dialect.Text{}, ctx.Err()
	}
	return h.record(j), dialect.Text{}, nil
}

func (h *played) record(j *playedJob) messages.Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return j.job
}

// end ends a job as how says.
func (h *played) end(j *playedJob, how messages.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if j.job.State.Ended() {
		return
	}
	j.job.State, j.job.End, j.job.Flags = messages.Finished, how.End, how.Flags
	close(j.done)
}

// exits ends a job with a code.
func (h *played) exits(j *playedJob, code int) {
	h.end(j, messages.Record{End: messages.End{Outcome: messages.Exited, Code: &code}})
}

// writes is output of a job.
func (h *played) writes(j *playedJob, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j.out += text
	j.job.Output = []messages.StreamOutput{{Bytes: int64(len(j.out))}}
}

var errAway = errors.New("the host has gone")

func (h *played) of(id messages.JobID) (*playedJob, error) {
	select {
	case <-h.away:
		return nil, errAway
	default:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if j := h.jobs[id]; j != nil {
		return j, nil
	}
	return nil, &messages.Error{Code: messages.NotFound, Message: "no such job"}
}

func (h *played) Do(ctx context.Context, request messages.Refusable) (any, error) {
	switch r := request.(type) {
	case messages.FindJob:
		job, err := h.Job(ctx, r.Job)
		return messages.JobFound{Job: job}, err
	case messages.WaitJobs:
		return host.Reply(h.Await(ctx, r))
	case messages.PromoteCommand:
		job, err := h.Promote(ctx, r.Job)
		return messages.CommandPromoted{Job: job}, err
	case messages.WriteInput:
		return messages.InputWritten{}, h.Input(ctx, r)
	case messages.ReadOutput:
		return host.Reply(h.View(ctx, r))
	case messages.ListSessions:
		return messages.SessionList{}, nil
	case messages.CloseSession:
		return host.Reply(h.CloseSession(ctx, r))
	case messages.StopCommand:
		return host.Reply(h.Stop(ctx, r))
	}
	return nil, fmt.Errorf("%T was not expected", request)
}

func (h *played) Job(_ context.Context, id messages.JobID) (messages.Record, error) {
	j, err := h.of(id)
	if err != nil {
		return messages.Record{}, err
	}
	return h.record(j), nil
}

func (h *played) Await(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	j, err := h.of(r.Jobs[0])
	if err != nil {
		return messages.WaitEnded{}, err
	}
	select {
	case <-j.done:
		return messages.WaitEnded{Satisfied: true, Jobs: []messages.Record{h.record(j)}}, nil
	case <-h.away:
		return messages.WaitEnded{}, errAway
	case <-ctx.Done():
		return messages.WaitEnded{}, ctx.Err()
	}
}

func (h *played) Promote(_ context.Context, id messages.JobID) (messages.Record, error) {
	j, err := h.of(id)
	if err != nil {
		return messages.Record{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if j.job.State.Ended() {
		return j.job, &messages.Error{Code: messages.JobFinished, Message: "it has ended"}
	}
	close(j.promoted)
	return j.job, nil
}

func (h *played) Input(ctx context.Context, r messages.WriteInput) error {
	h.mu.Lock()
	h.typed = append(h.typed, string(r.Data))
	stuck := h.stuck
	h.mu.Unlock()
	if stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (h *played) Bytes(_ context.Context, id messages.JobID, _ messages.Stream, from int64, most int, _ bool) (dialect.Bytes, error) {
	j, err := h.of(id)
	if err != nil {
		return dialect.Bytes{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	size := int64(len(j.out))
	to := min(size, from+int64(most))
	return dialect.Bytes{Data: []byte(j.out[from:to]), Next: to, Size: size}, nil
}

func (h *played) View(_ context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	j, err := h.of(r.Job)
	if err != nil {
		return messages.OutputPage{}, err
	}
	if h.looks != nil {
		h.looks()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if j.out == "unreadable" {
		return messages.OutputPage{}, errors.New("no")
	}
	return messages.OutputPage{Text: j.out, Bytes: int64(len(j.out))}, nil
}

func (h *played) CloseSession(_ context.Context, r messages.CloseSession) (messages.SessionClosed, error) {
	h.mu.Lock()
	var all []*playedJob
	for _, j := range h.jobs {
		if j.r.Session == r.Session {
			all = append(all, j)
		}
	}
	h.mu.Unlock()
	for _, j := range all {
		h.end(j, messages.Record{End: messages.End{Outcome: messages.Cancelled}})
	}
	return messages.SessionClosed{}, nil
}

func (h *played) Stop(_ context.Context, r messages.StopCommand) (messages.CommandStopped, error) {
	j, err := h.of(r.Job)
	if err != nil {
		return messages.CommandStopped{}, err
	}
	already := h.record(j).State.Ended()
	h.end(j, messages.Record{End: messages.End{Outcome: messages.Cancelled}})
	return messages.CommandStopped{Already: already}, nil
}
