package omp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// faulty has a host refuse what a test says.
func faulty(h **dialecttest.Faults) with {
	return func(o *Options, _ *JobsOptions) {
		*h = dialecttest.Faulty(o.Host)
		o.Host = *h
	}
}

// A host that has too much to do to wait for a job has not lost it.
func TestR125_AWaitThatIsRefusedIsNoEnd(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, async, faulty(&h))
	h.Fail("Await", dialecttest.Busy, dialecttest.Busy)
	g := r.gate("g")
	r.bash(args{"command": g.wait() + "; (exit 3)", "async": true})
	g.open()
	require.Contains(t, (<-r.told).Text, "Command exited with code 3")
	require.Positive(t, h.Met("Await"))
}

// An output that cannot be read is not one that is empty.
func TestAnOutputThatCannotBeReadIsToldOf(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, faulty(&h), settings(func(s *Settings) { s.Minimizer.Enabled = false }))
	h.Fail("Bytes", dialecttest.Busy)
	text := r.run("seq 20000")
	require.Equal(t, 1, h.Met("Bytes"))
	require.Contains(t, text, fmt.Sprintf(textUnread, dialecttest.Busy))
	require.NotContains(t, r.run("seq 20000"), "could not be read")
}

// Ends that nobody takes are not kept without end: the oldest go.
func TestR126_EndsThatNobodyTakesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var beside sync.WaitGroup
		var mu sync.Mutex
		var instant atomic.Int64 // no two ends are at the same time
		now := func() time.Time { return time.Now().Add(time.Duration(instant.Add(1))) }
		takes, told := false, []string{}
		j := NewJobs(JobsOptions{Beside: &beside, Limit: 2 * mostFinished, Now: now, Deliver: func(_ context.Context, d Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			if !takes {
				return errors.New("not now")
			}
			told = append(told, d.Text[strings.LastIndex(d.Text, "\n")+1:])
			return nil
		}})
		for i := range mostFinished + 44 {
			j.finish(begin(t, j, "main"), dialect.Result{Text: fmt.Sprint(i)})
			synctest.Wait()
		}
		mu.Lock()
		takes = true
		mu.Unlock()
		beside.Wait()
		require.Len(t, told, mostFinished)
		require.NotContains(t, told, "43", "the oldest")
		require.Contains(t, told, "44")
		j.Dispose(context.Background())
	})
}

// stays is a client's terminal whose command never ends by itself.
type stays struct{ met chan struct{} }

func (c stays) Run(ctx context.Context, _ ClientRun, _ func(text, terminal string)) (ClientEnd, error) {
	close(c.met)
	<-ctx.Done()
	return ClientEnd{}, ctx.Err()
}

// The end of a session ends what runs in the client's terminal, too.
func TestCloseEndsWhatRunsInTheClientsTerminal(t *testing.T) {
	c := stays{make(chan struct{})}
	r := newRig(t, func(o *Options, _ *JobsOptions) { o.Client = c })
	answered := make(chan dialect.Result, 1)
	r.beside.Go(func() {
		result, _ := r.call(context.Background(), "bash", args{"command": "x"}, nil)
		answered <- result
	})
	<-c.met
	require.NoError(t, r.Close(t.Context()))
	select {
	case result := <-answered:
		require.True(t, result.IsError)
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

// together is a host that closes two shells when both are asked for.
type together struct {
	dialect.Host
	met  atomic.Int32
	both chan struct{}
}

func (h *together) Do(ctx context.Context, r messages.Refusable) (any, error) {
	if _, closes := r.(messages.CloseSession); !closes {
		return h.Host.Do(ctx, r)
	}
	if h.met.Add(1) == 2 {
		close(h.both)
	}
	select {
	case <-h.both:
		return h.Host.Do(ctx, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The shells of a session are closed at once: each may take its grace.
func TestCloseClosesAllShellsAtOnce(t *testing.T) {
	h := &together{both: make(chan struct{})}
	r := newRig(t, func(o *Options, _ *JobsOptions) { h.Host, o.Host = o.Host, h })
	r.useShell(shelltext.ReuseKey{}, true)
	r.useShell(shelltext.ReuseKey{}, true)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	require.NoError(t, r.Close(ctx))
}
