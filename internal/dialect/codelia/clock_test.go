package codelia

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/internal/dialect"
	"troupe/messages"
)

// stuckHost has one job that runs until it is stopped, takes no input and writes nothing.
type stuckHost struct {
	dialect.Host
	stopped chan struct{}
	mu      sync.Mutex
	closed  int // how often its input was
}

func (h *stuckHost) Run(ctx context.Context, r messages.RunCommand, _ int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	known(messages.JobID(r.UID))
	return messages.Record{UID: r.UID, State: messages.Running, Started: time.Now()}, dialect.Text{}, ctx.Err()
}

func (h *stuckHost) Do(ctx context.Context, r messages.Refusable) (any, error) {
	switch r.(type) {
	case messages.StopCommand:
		close(h.stopped)
		return messages.CommandStopped{}, nil
	case messages.FindJob:
		return messages.JobFound{Job: messages.Record{State: messages.Running}}, nil
	case messages.WriteInput:
		<-ctx.Done()
		return nil, ctx.Err()
	case messages.CloseInput:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.closed++
		return messages.Acknowledged{}, nil
	}
	select {
	case <-h.stopped:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return messages.WaitEnded{Jobs: []messages.Record{{State: messages.Finished, End: messages.End{Outcome: messages.Cancelled, Cause: messages.Cause{By: messages.ByClient}}}}}, nil
}

func (h *stuckHost) Bytes(ctx context.Context, _ messages.JobID, _ messages.Stream, _ int64, _ int, _ bool) (dialect.Bytes, error) {
	<-ctx.Done()
	return dialect.Bytes{}, ctx.Err()
}

func (h *stuckHost) Events(ctx context.Context, _ messages.Filter, begun func()) iter.Seq2[messages.Fact, error] {
	return func(yield func(messages.Fact, error) bool) {
		begun()
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// stuck plays a task over a stuckHost in virtual time.
func stuck(t *testing.T, play func(t *testing.T, s *Session, h *stuckHost, task string)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := &stuckHost{stopped: make(chan struct{})}
		var beside sync.WaitGroup
		s := New(Options{Host: h, Beside: &beside, Dir: dir, SessionID: "s", FS: disk.Files{}})
		i, err := s.Start(t.Context(), StartParams{ExecParams: ExecParams{Command: "cat"}, StdinMode: "pipe", Detached: true})
		require.NoError(t, err)
		play(t, s, h, i.TaskID)
		require.NoError(t, s.Close(t.Context()))
		beside.Wait()
	})
}

func TestR251_AProgramThatTakesNothingFor30SecondsGetsNothingMore(t *testing.T) {
	stuck(t, func(t *testing.T, s *Session, h *stuckHost, task string) {
		began := time.Now()
		errs := make(chan error, 2)
		for range 2 { // the second waits for the first
			go func() { errs <- s.Input(t.Context(), InputParams{TaskID: task, Data: "x"}) }()
		}
		for range 2 {
			require.EqualError(t, <-errs, "the standard input of the task is not valid any more: it took no input for 30 seconds")
		}
		require.Equal(t, 30*time.Second, time.Since(began))
		require.EqualError(t, s.Input(t.Context(), InputParams{TaskID: task, Data: "x"}), "the standard input of the task is not valid any more: it took no input for 30 seconds")
		require.Equal(t, 30*time.Second, time.Since(began), "at once")
		require.Equal(t, 1, h.closed)
	})
}

func TestR249_AWaitLasts120SecondsAndAtMost300(t *testing.T) {
	stuck(t, func(t *testing.T, s *Session, _ *stuckHost, task string) {
		for asked, want := range map[*float64]time.Duration{nil: 120 * time.Second, ptr(1000.0): 300 * time.Second, ptr(2.7): 2 * time.Second} {
			began := time.Now()
			i, _, err := s.Wait(t.Context(), WaitParams{TaskID: task, WaitTimeoutSeconds: asked})
			require.NoError(t, err)
			require.True(t, i.StillRunning)
			require.Equal(t, want, time.Since(began))
		}
	})
}

func TestR249_ADetachedWaitAnswersAndTheTaskGoesOn(t *testing.T) {
	stuck(t, func(t *testing.T, s *Session, h *stuckHost, task string) {
		answers := make(chan *DetachResult, 2)
		for range 2 {
			go func() {
				_, d, _ := s.Wait(t.Context(), WaitParams{TaskID: task})
				answers <- d
			}()
		}
		synctest.Wait()
		want := DetachResult{TaskID: task, Detached: true, State: Running}
		d, err := s.Detach(t.Context(), TaskParams{task})
		require.NoError(t, err)
		require.Equal(t, want, d)
		require.Equal(t, &want, <-answers)
		require.Equal(t, &want, <-answers)
		i, err := s.Status(t.Context(), TaskParams{task})
		require.NoError(t, err)
		require.Equal(t, Running, i.State)
	})
}

func TestTooManyTasksAreBusy(t *testing.T) {
	stuck(t, func(t *testing.T, s *Session, _ *stuckHost, _ string) {
		for range maxRunning {
			require.Nil(t, s.admit(&task{}))
			if len(s.tasks) == maxRunning {
				break
			}
		}
		_, err := s.Start(t.Context(), StartParams{ExecParams: ExecParams{Command: "x"}})
		require.EqualError(t, err, "64 shell tasks are running, which is the limit; cancel one, or wait for one to end")
		require.Equal(t, CodeBusy, code(t, err))
		s.tasks = s.tasks[:1]
	})
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("a\nb"), 200)
	f.Add([]byte("\xffé"), 40_000)
	f.Fuzz(func(t *testing.T, piece []byte, n int) {
		if len(piece) > 1000 || n < 0 || n > 100_000 {
			return
		}
		data := bytes.Repeat(piece, n)
		data = data[:min(len(data), 300_000)]
		text, cut, err := excerpt(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil || !utf8.ValidString(text) {
			t.Fatalf("%v, valid: %v", err, utf8.ValidString(text))
		}
		if !cut && text != strings.ToValidUTF8(string(data), "\uFFFD") {
			t.Fatal("what is not cut is whole")
		}
		if len(text) > 3*maxBytes+200 {
			t.Fatalf("%d bytes are shown", len(text))
		}
	})
}
