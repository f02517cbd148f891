package copilot

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/dialect"
)

// faulty has a host refuse what a test says.
func faulty(h **dialecttest.Faults) with {
	return func(o *Options) {
		*h = dialecttest.Faulty(o.Host)
		o.Host = *h
	}
}

// A host that has too much to do to wait for a command has not lost it.
func TestR238_AWaitThatIsRefusedIsNoEnd(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, faulty(&h))
	h.Fail("Await", dialecttest.Busy, dialecttest.Busy)
	g := dialecttest.NewGate(t)
	r.async("a", g.Wait()+"; (exit 3)")
	g.Open()
	require.Contains(t, r.notice().Text, "exited with code 3")
	require.Positive(t, h.Met("Await"))
}

// soon fails a test for which something takes too long.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal(what + " waits for another call")
	}
}

// A host that does not answer a read holds nobody else: the list, other shells and the end of
// the session go on.
func TestAReadThatHangsHoldsNobodyElse(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, faulty(&h))
	r.async("a", "sleep 600")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	held, answered := h.Hold("Bytes"), make(chan error, 1)
	r.beside.Go(func() {
		_, err := r.calls(ctx, "read_bash", args{"shellId": "a", "delay": 0}, nil)
		answered <- err
	})
	<-held.Met
	soon(t, "the list", func() { _, _ = r.calls(context.Background(), "list_bash", args{}, nil) })
	soon(t, "a command of another shell", func() {
		_, _ = r.calls(context.Background(), "bash", args{"command": "true", "description": "x", "shellId": "b"}, nil)
	})
	soon(t, "the end of the session", func() { _ = r.Close(context.Background()) })
	stop()
	require.ErrorIs(t, <-answered, context.Canceled)
}

// A shell whose end was refused is still there, and can be stopped again.
func TestR233_AStopThatIsRefusedLosesNoShell(t *testing.T) {
	for name, call := range map[string]string{"pty": "CloseSession", "process": "Stop"} {
		t.Run(name, func(t *testing.T) {
			var h *dialecttest.Faults
			r := newRig(t, faulty(&h), settings(func(s *Settings) { s.SpawnBackend = name == "process" }))
			r.async("a", "echo there; sleep 600")
			r.wrote("a", "there")
			h.Fail(call, dialecttest.Busy)
			refused := r.call("stop_bash", args{"shellId": "a"})
			require.True(t, refused.IsError)
			require.Contains(t, refused.Text, dialecttest.Busy.Message)
			require.Equal(t, []string{"a"}, r.listed().Sessions)
			require.Empty(t, r.listed().RecentShutdowns)
			require.Contains(t, r.read("a", 0).Text, "is still running")
			stopped := r.call("stop_bash", args{"shellId": "a"})
			require.False(t, stopped.IsError)
			require.Equal(t, stoppedNow, details(t, stopped).Telemetry["shell_status"])
			r.over("a")
		})
	}
}

// A command whose session ends before the host has heard of it does not begin.
func TestACommandIsStoppedBeforeTheHostKnowsIt(t *testing.T) {
	for _, mode := range []string{ModeSync, ModeAsync} {
		t.Run(mode, func(t *testing.T) {
			both(t, func(t *testing.T, changes ...with) {
				var h *dialecttest.Faults
				r := newRig(t, append(changes, faulty(&h))...)
				held := h.Hold("Run")
				r.beside.Go(func() {
					<-held.Met
					assert.NoError(t, r.Close(context.Background()))
				})
				soon(t, "the call", func() {
					_, _ = r.calls(context.Background(), "bash", args{"command": "touch ran; sleep 600", "description": "x", "shellId": "a", "mode": mode}, nil)
				})
				require.NoFileExists(t, filepath.Join(r.dir, "ran"))
				require.Empty(t, r.listed().Sessions)
				require.Empty(t, r.all())
				require.Equal(t, ReasonStopped, r.listed().RecentShutdowns[0].Reason)
			})
		})
	}
}
