package node_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// A node is a host for dialects: what it answers is what a daemon would.
func TestANodeIsAHost(t *testing.T) {
	h, ctx := dialecttest.Host(t), context.Background()
	var known messages.JobID
	job, text, err := h.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "echo one; echo two >&2"}}, 100, func(id messages.JobID) { known = id })
	require.NoError(t, err)
	require.Equal(t, dialect.Text{Text: "one\ntwo\n"}, text)
	require.Equal(t, messages.JobID(job.UID), known)

	b, err := h.Bytes(ctx, job.ID, messages.Merged, 4, 2, false)
	require.NoError(t, err)
	require.Equal(t, dialect.Bytes{Data: []byte("tw"), Next: 6, Size: 8}, b)
	b, err = h.Bytes(ctx, job.ID, messages.Merged, 8, 2, true)
	require.NoError(t, err)
	require.Equal(t, int64(8), b.Next, "nothing follows")
	var all bytes.Buffer
	next, err := dialect.Copy(ctx, h, job.ID, messages.Merged, 1, -1, &all, nil)
	require.NoError(t, err)
	require.Equal(t, int64(8), next)
	require.Equal(t, "ne\ntwo\n", all.String())

	_, _, err = h.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "true"}, Dir: "/nowhere"}, 0, nil)
	require.ErrorIs(t, err, &messages.Error{Code: messages.CwdNotFound})
	list, err := dialect.Jobs(ctx, h, messages.ListJobs{Finished: true})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, int64(8), list[0].Output[0].Bytes)
}

// What is written between two looks is in the next one, and the last look has the end.
func TestLiveOutputIsJoined(t *testing.T) {
	h, ctx := dialecttest.Host(t), context.Background()
	job, _, err := h.Run(ctx, messages.RunCommand{Program: messages.Program{Text: `read -r go; for i in $(seq 5000); do echo "$i"; done; read -r go; printf end`}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync}, 0, nil)
	require.NoError(t, err)
	shown := make(chan string, 1000)
	var beside sync.WaitGroup
	beside.Go(func() {
		defer close(shown)
		require.NoError(t, dialect.Live(ctx, h, job.ID, messages.Merged, func(ctx context.Context) (messages.OutputPage, error) {
			reply, err := h.Do(ctx, messages.ReadOutput{Job: job.ID, Stream: messages.Merged, View: messages.View{Kind: messages.ViewTail, Bytes: 100}, Plain: true})
			page, _ := reply.(messages.OutputPage)
			return page, err
		}, time.Millisecond, func(p messages.OutputPage) { shown <- p.Text }))
	})
	require.NoError(t, dialect.Input(ctx, h, messages.WriteInput{Job: job.ID, Data: []byte("\n")}))
	for text := range shown {
		require.LessOrEqual(t, len(text), 200)
		if strings.HasSuffix(text, "4999\n5000\n") {
			break
		}
	}
	require.NoError(t, dialect.Input(ctx, h, messages.WriteInput{Job: job.ID, Data: []byte("\n")}))
	last := ""
	for text := range shown {
		last = text
	}
	beside.Wait()
	require.True(t, strings.HasSuffix(last, "5000\nend"), last)
}

// A dialect hears the ends of its jobs.
func TestAHostTellsOfEnds(t *testing.T) {
	h := dialecttest.Host(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun, ended := make(chan struct{}), make(chan messages.Record, 1)
	var beside sync.WaitGroup
	beside.Go(func() {
		for fact, err := range h.Events(ctx, messages.Filter{Ends: true}, func() { close(begun) }) {
			if err != nil {
				return
			}
			if end, ok := fact.(messages.CommandFinished); ok {
				ended <- end.Job
			}
		}
	})
	<-begun
	job, _, err := h.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "exit 3"}}, 0, nil)
	require.NoError(t, err)
	require.Equal(t, job.UID, (<-ended).UID)
	cancel()
	beside.Wait()
}
