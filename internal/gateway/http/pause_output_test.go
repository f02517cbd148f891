package http_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/messages"
)

// A job that is held waits; whoever lets go of it, or vanishes, lets it go on.
// Several may hold it.
func TestAJobIsHeld(t *testing.T) {
	d := start(t, nil)
	const size = 64 << 20
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "head -c 1000 /dev/zero; read x <" + gate + "; head -c 67108864 /dev/zero", Shell: "sh"}})
	first, err := d.client.Hold(t.Context(), job.ID)
	require.NoError(t, err)
	other, err := client.Dial(t.Context(), d.socket)
	require.NoError(t, err)
	defer other.Close()
	vanishing, vanish := context.WithCancel(t.Context())
	_, err = other.Hold(vanishing, job.ID)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(gate, []byte("go\n"), 0o600))
	first()
	require.Less(t, d.stalls(job.ID), int64(size), "the job did not wait")
	vanish()
	_, err = d.client.Await(t.Context(), messages.WaitJobs{Jobs: []messages.JobID{job.ID}})
	require.NoError(t, err)
	over, err := d.client.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, int64(size+1000), over.Output[0].Bytes)
	_, err = d.client.Hold(t.Context(), job.ID)
	require.ErrorIs(t, err, &messages.Error{Code: messages.JobFinished})
}

// A hold ends with its job: a reader that waits for its end learns that nothing is left
// to hold.
func TestAHoldEndsWithItsJob(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Argv: []string{"sleep", "600"}}})
	reply := d.reply("POST", "/v1/jobs/"+string(job.ID)+"/hold", "{}")
	defer reply.Body.Close()
	require.Equal(t, 200, reply.StatusCode)
	_, err := d.client.Stop(t.Context(), messages.StopCommand{Job: job.ID, Grace: -1})
	require.NoError(t, err)
	b, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.Empty(t, b)
}

// stalls waits until an output does not grow any more, and says how far it came.
func (d *daemon) stalls(id messages.JobID) int64 {
	d.t.Helper()
	var size int64
	look := time.NewTicker(30 * time.Millisecond) // to see that nothing happens takes time
	defer look.Stop()
	for same := 0; same < 10; same++ {
		<-look.C
		job, err := d.client.Job(d.t.Context(), id)
		require.NoError(d.t, err)
		if now := job.Output[0].Bytes; now != size {
			size, same = now, 0
		}
	}
	return size
}
