package http_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/internal/api"
	"troupe/messages"
)

// sizes prints each size that its terminal has had for a moment.
const sizes = `was=$(stty size); echo ready; while sleep 0.02; do now=$(stty size); [ "$now" = "$was" ] || echo "is $now."; was=$now; done`

// prints waits until the job has printed a text.
func (a *attached) prints(text string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	for !strings.Contains(string(a.data), text) {
		h, err := a.Next(ctx)
		require.NoError(a.t, err, "it waited for %q, and has got %q", text, a.data)
		a.data = append(a.data, h.Data...)
	}
}

func (a *attached) resizes(rows, cols int) {
	a.t.Helper()
	require.NoError(a.t, a.Say(a.t.Context(), api.AttachRequest{Kind: api.AttachResize, Rows: rows, Cols: cols}))
	a.prints(fmt.Sprintf("is %d %d.", rows, cols))
}

// Who writes to a job that somebody waits for may change the size of its terminal. Behind
// the last who does, it is as that one had it, who may have changed it meanwhile.
func TestAttachedSizeIsGivenBack(t *testing.T) {
	d := start(t, nil)
	job := d.shown()
	watches := d.attach(job.ID, client.AttachOptions{})
	one, two := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk}), d.attach(job.ID, client.AttachOptions{})
	require.True(t, one.said(api.AttachLease).Held)
	one.resizes(11, 41)
	two.says(api.AttachTake)
	require.False(t, one.said(api.AttachLease).Held)
	require.True(t, two.said(api.AttachLease).Held)
	two.resizes(12, 42)
	require.NoError(t, d.client.Resize(t.Context(), messages.ResizeTerminal{Job: job.ID, Size: messages.Terminal{Rows: 20, Cols: 50}}))
	two.prints("is 20 50.")
	require.NoError(t, two.Close())
	require.True(t, one.said(api.AttachLease).Held)
	one.resizes(13, 43)
	one.says(api.AttachYield)
	watches.prints("is 13 43.\r\nis 20 50.\r\n")

	three := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk})
	require.True(t, three.said(api.AttachLease).Held)
	three.resizes(14, 44)
	_, err := d.client.Promote(t.Context(), messages.PromoteCommand{Job: job.ID})
	require.NoError(t, err)
	require.NoError(t, three.Close())
	four := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk})
	require.True(t, four.said(api.AttachLease).Held)
	four.resizes(15, 45)
	watches.prints("is 15 45.")
	require.NotContains(t, string(watches.data), "is 14 44.\r\nis 20", "nobody waits for it any more")
}

// Who watches has what is painted painted again, and changes no size.
func TestAttachedWatcherSeesItPainted(t *testing.T) {
	d := start(t, nil)
	job := d.shown()
	watches := d.attach(job.ID, client.AttachOptions{})
	require.NoError(t, watches.Say(t.Context(), api.AttachRequest{Kind: api.AttachResize, Rows: 5, Cols: 5}))
	require.Equal(t, messages.Refused, watches.said(api.AttachFailed).Error.Code)
	watches.says(api.AttachRepaint)
	var rows []int
	for e, err := range d.client.Events(t.Context(), messages.Subscribe{Filter: messages.Filter{Job: job.ID}}) {
		require.NoError(t, err)
		if e.Kind != "command_changed" {
			continue
		}
		if rows = append(rows, e.Job.Terminal.Rows); len(rows) == 2 {
			break
		}
	}
	require.Equal(t, []int{11, 10}, rows)
}

// shown runs a job that prints its sizes, for a client that waits for it.
func (d *daemon) shown() messages.Record {
	d.t.Helper()
	known := make(chan messages.JobID, 1)
	go func() {
		_, _ = d.client.Run(d.t.Context(), messages.RunCommand{Program: messages.Program{Text: sizes, Shell: "bash"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 10, Cols: 40}}}, client.WithID(func(id messages.JobID) { known <- id }))
	}()
	return d.awaits(<-known, messages.Condition{Kind: messages.UntilPattern, Pattern: "ready"})
}
