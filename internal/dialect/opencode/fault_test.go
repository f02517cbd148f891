package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// faulty has a host refuse what a test says.
func faulty(h **dialecttest.Faults) func(*Options) {
	return func(o *Options) {
		*h = dialecttest.Faulty(o.Host)
		o.Host = *h
	}
}

var background = settings(func(s *Settings) { s.Background = true })

// A host that has too much to do to wait for a task has not lost it.
func TestR183_AWaitThatIsRefusedIsNoEnd(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, background, faulty(&h))
	h.Fail("Await", dialecttest.Busy, dialecttest.Busy)
	g := dialecttest.NewGate(t)
	id := details(t, r.call("bash", args{"command": g.Wait() + "; exit 3", "description": "x", "run_in_background": true})).TaskID
	g.Open()
	n := <-r.told
	require.Equal(t, id, n.TaskID)
	require.Contains(t, n.Text, "Exit code 3")
	require.Positive(t, h.Met("Await"))
}

// A task that the host takes while its session ends is ended, too.
func TestR183_ATaskThatBeginsAtTheEndOfItsSessionEnds(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, background, faulty(&h))
	held, came := h.HoldLate("Run"), make(chan dialect.Result, 1)
	bash := r.Tools()[0]
	r.beside.Go(func() {
		result, _ := bash.Call(context.Background(), dialect.Call{Arguments: json.RawMessage(`{"command": "sleep 600", "description": "x", "run_in_background": true}`)})
		came <- result
	})
	<-held.Met
	require.NoError(t, r.Close(t.Context()))
	close(held.Goes)
	result := <-came
	require.True(t, result.IsError, result.Text)
	list, err := host.Ask(t.Context(), r.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	end, err := host.Ask(t.Context(), h, messages.WaitJobs{Jobs: []messages.JobID{messages.JobID(jobs[0].UID)}, Timeout: time.Minute})
	require.NoError(t, err)
	require.True(t, end.Satisfied, "it goes on, and nobody knows it")
}

// A file that has not all of an output is told to be so; a host that is busy is asked again.
func TestR183_AFileThatIsNotCompleteIsToldOf(t *testing.T) {
	var h *dialecttest.Faults
	data := t.TempDir()
	r := newRig(t, background, settings(func(s *Settings) { s.DataDir = data }), faulty(&h))
	for _, fault := range []error{dialecttest.Busy, errors.New("the host has gone")} {
		h.Fail("Bytes", fault)
		m := details(t, r.call("bash", args{"command": "echo out", "description": "x", "run_in_background": true}))
		n := <-r.told
		require.Equal(t, m.TaskID, n.TaskID)
		if errors.Is(fault, dialecttest.Busy) {
			require.Equal(t, "out\n", content(t, m.TempFilePath))
			require.NotContains(t, n.Text, "Not all")
			continue
		}
		require.Contains(t, n.Text, fmt.Sprintf(textTaskFileCut, fault))
	}
	require.Equal(t, 2, h.Met("Bytes"))
	require.NoError(t, r.Close(t.Context()))
	late := r.call("bash", args{"command": "true", "description": "x", "run_in_background": true})
	require.Contains(t, late.Text, textSessionEnded)
}
