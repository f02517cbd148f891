package codelia

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/internal/dialect"
	"troupe/messages"
)

// brokenHost has one job, and streams of events that break when the test says so.
type brokenHost struct {
	dialect.Host
	mu      sync.Mutex
	job     messages.Record
	streams int
	refused int           // how many streams do not even begin
	cut     chan struct{} // closed to break the stream
	ended   chan struct{} // closed at the end of the job
}

func (h *brokenHost) Run(ctx context.Context, r messages.RunCommand, _ int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	h.mu.Lock()
	h.job = messages.Record{UID: r.UID, State: messages.Queued}
	h.mu.Unlock()
	known(messages.JobID(r.UID))
	select {
	case <-h.ended:
	case <-ctx.Done():
		return messages.Record{}, dialect.Text{}, ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.job, dialect.Text{}, nil
}

func (h *brokenHost) Do(ctx context.Context, r messages.Refusable) (any, error) {
	if _, finds := r.(messages.FindJob); !finds {
		return nil, errors.New("it can only be looked at")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return messages.JobFound{Job: h.job}, ctx.Err()
}

func (h *brokenHost) Bytes(ctx context.Context, _ messages.JobID, _ messages.Stream, _ int64, _ int, _ bool) (dialect.Bytes, error) {
	<-ctx.Done()
	return dialect.Bytes{}, ctx.Err()
}

func (h *brokenHost) Events(ctx context.Context, _ messages.Filter, begun func()) iter.Seq2[messages.Fact, error] {
	return func(yield func(messages.Fact, error) bool) {
		h.mu.Lock()
		h.streams++
		cut, refuse := h.cut, h.streams > 1 && h.refused > 0
		if refuse {
			h.refused--
		}
		h.mu.Unlock()
		if refuse {
			yield(nil, errors.New("no daemon is there"))
			return
		}
		begun()
		select {
		case <-cut:
			yield(nil, errors.New("the daemon has gone"))
		case <-ctx.Done():
			yield(nil, ctx.Err())
		}
	}
}

// becomes changes the job, breaks the stream, and makes some of the next ones fail.
func (h *brokenHost) becomes(refused int, change func(*messages.Record)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.job)
	h.refused = refused
	close(h.cut)
	h.cut = make(chan struct{})
}

// A stream of events that breaks is followed anew, after pauses, and the tasks have the states
// that their jobs have got meanwhile: one has started, and then is stopping, which gives it its
// result before its end.
func TestABrokenStreamIsTakenUpAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := &brokenHost{cut: make(chan struct{}), ended: make(chan struct{})}
		var beside sync.WaitGroup
		s := New(Options{Host: h, Beside: &beside, Dir: dir, SessionID: "s", FS: disk.Files{}})
		result := make(chan ExecResult, 1)
		go func() {
			r, err := s.Exec(t.Context(), ExecParams{Command: "make"})
			require.NoError(t, err)
			result <- r
		}()
		synctest.Wait()
		state := func() string {
			list, err := s.List(t.Context(), ListParams{})
			require.NoError(t, err)
			return list.Tasks[0].State
		}
		require.Equal(t, Queued, state())

		began := time.Now()
		h.becomes(5, func(job *messages.Record) { job.State, job.Started = messages.Running, time.Now() })
		synctest.Wait()
		require.Equal(t, Queued, state(), "no stream has begun")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, Running, state())
		require.Equal(t, 7, h.streams, "six pauses: they grow")

		h.becomes(0, func(job *messages.Record) {
			job.State, job.End.Cause = messages.Stopping, messages.Cause{By: messages.ByDeadline}
		})
		r := <-result
		require.Equal(t, "command timed out after 120 seconds", r.FailureMessage)
		require.Less(t, time.Since(began), 2*time.Minute)
		require.Equal(t, 8, h.streams)

		close(h.ended)
		require.NoError(t, s.Close(t.Context()))
		beside.Wait()
	})
}

// Facts that the host no longer has are asked for, too.
func TestDroppedFactsAreCaughtUpWith(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := &droppingHost{brokenHost{cut: make(chan struct{}), ended: make(chan struct{})}, make(chan struct{})}
		var beside sync.WaitGroup
		s := New(Options{Host: h, Beside: &beside, Dir: dir, SessionID: "s", FS: disk.Files{}})
		result := make(chan ExecResult, 1)
		go func() {
			r, err := s.Exec(t.Context(), ExecParams{Command: "make"})
			require.NoError(t, err)
			result <- r
		}()
		synctest.Wait()
		h.mu.Lock()
		h.job.State, h.job.End.Cause = messages.Stopping, messages.Cause{By: messages.ByDeadline}
		h.mu.Unlock()
		close(h.drop)
		require.Contains(t, (<-result).FailureMessage, "timed out")
		close(h.ended)
		require.NoError(t, s.Close(t.Context()))
		beside.Wait()
	})
}

// droppingHost reports once that facts were dropped.
type droppingHost struct {
	brokenHost
	drop chan struct{}
}

func (h *droppingHost) Events(ctx context.Context, _ messages.Filter, begun func()) iter.Seq2[messages.Fact, error] {
	return func(yield func(messages.Fact, error) bool) {
		begun()
		<-h.drop
		if yield(messages.FactsDropped{}, nil) {
			<-ctx.Done()
			yield(nil, ctx.Err())
		}
	}
}

// A task starts although the events cannot be followed.
func TestTasksStartWithoutEvents(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Host = deafHost{o.Host} })
	require.Equal(t, "out\n", r.exec("echo out").Stdout)
	require.Equal(t, "out\n", r.wait(r.start("echo out").TaskID).Stdout)
	require.Contains(t, r.logs.String(), "have broken off")
}

// deafHost has no events.
type deafHost struct{ dialect.Host }

func (deafHost) Events(context.Context, messages.Filter, func()) iter.Seq2[messages.Fact, error] {
	return func(yield func(messages.Fact, error) bool) { yield(nil, errors.New("there are none")) }
}
