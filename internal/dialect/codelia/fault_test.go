package codelia

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/dialect"
)

// faulty has a host refuse what a test says.
func faulty(h **dialecttest.Faults) func(*Options) {
	return func(o *Options) {
		*h = dialecttest.Faulty(o.Host)
		o.Host = *h
	}
}

// A host that has too much to do to wait for a task has not lost it.
func TestR249_AWaitThatIsRefusedIsNoEnd(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, faulty(&h))
	h.Fail("Await", dialecttest.Busy, dialecttest.Busy)
	g := dialecttest.NewGate(t)
	i := r.start(g.Wait() + "; exit 3")
	g.Open()
	end := r.wait(i.TaskID)
	require.Equal(t, 3, *end.ExitCode, end.FailureMessage)
	require.Positive(t, h.Met("Await"))
}

// Cancel says when a task could not be ended, and does not wait for its end for ever.
func TestR249_ACancelThatIsRefusedSaysSo(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, faulty(&h))
	i := r.start("sleep 600")
	h.Fail("Stop", dialecttest.Busy)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	_, err := r.Cancel(ctx, TaskParams{TaskID: i.TaskID})
	require.ErrorContains(t, err, dialecttest.Busy.Message)
	require.Equal(t, Running, r.info(r.find(i.TaskID)).State)
	end, err := r.Cancel(ctx, TaskParams{TaskID: i.TaskID})
	require.NoError(t, err)
	require.Equal(t, Cancelled, end.State)
	require.Equal(t, textCancelled, end.CancellationReason)
}

// A caller that leaves before the host has heard of the command ends it all the same.
func TestACommandIsCancelledBeforeTheHostKnowsIt(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, faulty(&h))
	held := h.Hold("Run")
	ctx, stop := context.WithCancel(t.Context())
	left := make(chan error, 1)
	r.beside.Go(func() {
		_, err := r.Exec(ctx, ExecParams{Command: "touch " + filepath.Join(r.dir, "ran") + "; sleep 600"})
		left <- err
	})
	<-held.Met
	stop()
	require.ErrorIs(t, <-left, context.Canceled)
	all, err := r.List(t.Context(), ListParams{})
	require.NoError(t, err)
	wait := 20.0
	end, _, err := r.Wait(t.Context(), WaitParams{TaskID: all.Tasks[0].TaskID, WaitTimeoutSeconds: &wait})
	require.NoError(t, err)
	require.Equal(t, Cancelled, end.State)
	require.Equal(t, textCancelled, end.CancellationReason)
	require.NoFileExists(t, filepath.Join(r.dir, "ran"))
}

// An output that cannot be read is not one that is empty.
func TestAnOutputThatCannotBeReadIsToldOf(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, faulty(&h))
	for range 100 { // who watches the size reads, too
		h.Fail("Bytes", dialecttest.Busy)
	}
	result := r.exec("echo out; exit 3")
	require.Equal(t, 3, *result.ExitCode)
	require.Equal(t, "[stdout could not be read: "+dialecttest.Busy.Message+"]", result.Stdout)
	require.Equal(t, Truncated{Stdout: true, Combined: true}, result.Truncated)
}
