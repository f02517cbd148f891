package http_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/internal/api"
	"troupe/messages"
)

// A job is attached to in the same way in this process and through the daemon.
func TestAttachToAJob(t *testing.T) {
	d := start(t, nil)
	for name, h := range map[string]host.Host{"node": d.node.Host(), "daemon": d.client.Host()} {
		t.Run(name, func(t *testing.T) {
			job := d.background(messages.RunCommand{
				Program: messages.Program{Text: "echo before; read line; echo got $line; cat"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe},
			})
			d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "before"})
			a, err := h.Attach(t.Context(), job.ID, messages.Terminal{})
			require.NoError(t, err)
			for _, c := range []struct{ typed, shown string }{{"x\n", "got x\n"}, {"y\n", "y\n"}} {
				n, err := a.Write([]byte(c.typed))
				require.NoError(t, err)
				require.Equal(t, 2, n)
				read := make([]byte, len(c.shown))
				_, err = io.ReadFull(a, read)
				require.NoError(t, err)
				require.Equal(t, c.shown, string(read), "what it wrote before is not read")
			}
			_, err = host.Ask(t.Context(), h, messages.CloseInput{Job: job.ID})
			require.NoError(t, err)
			rest, err := io.ReadAll(a)
			require.NoError(t, err)
			require.Empty(t, rest)
			require.NoError(t, a.Close())
			require.NoError(t, a.Close())
			_, err = a.Read(make([]byte, 1))
			require.Error(t, err)
		})
	}
}

// eachHost runs a test with a job on a pipe, attached to in this process and through the daemon.
func eachHost(t *testing.T, text string, test func(t *testing.T, d *daemon, id messages.JobID, attach func(context.Context) io.ReadWriteCloser)) {
	d := start(t, nil)
	for name, h := range map[string]host.Host{"node": d.node.Host(), "daemon": d.client.Host()} {
		t.Run(name, func(t *testing.T) {
			job := d.background(messages.RunCommand{Program: messages.Program{Text: text}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
			test(t, d, job.ID, func(ctx context.Context) io.ReadWriteCloser {
				a, err := h.Attach(ctx, job.ID, messages.Terminal{})
				require.NoError(t, err)
				return a
			})
		})
	}
}

// returns waits for what must not hang.
func returns(t *testing.T, call func() error) (err error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err = <-done:
	case <-time.After(patience):
		t.Fatal("the call hangs")
	}
	return err
}

// A Write after the end of the output fails.
func TestAttachWriteAfterTheEnd(t *testing.T) {
	eachHost(t, "read line", func(t *testing.T, _ *daemon, _ messages.JobID, attach func(context.Context) io.ReadWriteCloser) {
		a := attach(t.Context())
		_, err := a.Write([]byte("x\n"))
		require.NoError(t, err)
		_, err = io.ReadAll(a)
		require.NoError(t, err)
		require.ErrorIs(t, returns(t, func() error {
			_, err := a.Write([]byte("y\n"))
			return err
		}), os.ErrClosed)
		_, err = a.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, a.Close())
	})
}

// The end of the context closes an attachment that nothing reads. The next one has the input.
func TestAttachEndsWithItsContext(t *testing.T) {
	eachHost(t, "cat", func(t *testing.T, d *daemon, id messages.JobID, attach func(context.Context) io.ReadWriteCloser) {
		ctx, cancel := context.WithCancel(t.Context())
		a := attach(ctx)
		_, err := a.Write([]byte("a\n"))
		require.NoError(t, err)
		d.awaits(id, messages.Condition{Kind: messages.UntilPattern, Pattern: "a"})
		next := d.attach(id, client.AttachOptions{Lease: api.AttachAsk})
		cancel()
		require.True(t, next.said(api.AttachLease).Held)
		_, err = a.Read(make([]byte, 1))
		require.ErrorIs(t, err, context.Canceled, "not what was written before")
		_, err = a.Write([]byte("b"))
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, a.Close())
	})
}

// Close ends a Read that waits.
func TestAttachCloseDuringRead(t *testing.T) {
	eachHost(t, "cat", func(t *testing.T, _ *daemon, _ messages.JobID, attach func(context.Context) io.ReadWriteCloser) {
		for range 20 {
			a, began, read := attach(t.Context()), make(chan struct{}), make(chan error, 1)
			go func() {
				close(began)
				_, err := a.Read(make([]byte, 1))
				read <- err
			}()
			<-began
			require.NoError(t, a.Close())
			require.ErrorIs(t, returns(t, func() error { return <-read }), os.ErrClosed)
			_, err := a.Write([]byte("b"))
			require.ErrorIs(t, err, os.ErrClosed)
		}
	})
}

// The terminal has the size that its client gives it.
func TestAttachGivesASize(t *testing.T) {
	d := start(t, nil)
	for name, h := range map[string]host.Host{"node": d.node.Host(), "daemon": d.client.Host()} {
		t.Run(name, func(t *testing.T) {
			job := d.background(messages.RunCommand{
				Program: messages.Program{Text: "read line; stty size"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 5, Cols: 6}},
			})
			a, err := h.Attach(t.Context(), job.ID, messages.Terminal{Rows: 33, Cols: 66})
			require.NoError(t, err)
			defer a.Close()
			_, err = a.Write([]byte("go\r"))
			require.NoError(t, err)
			shown, err := io.ReadAll(a)
			require.NoError(t, err)
			require.Contains(t, string(shown), "33 66")
		})
	}
}

// What cannot be attached to, or takes no input, is refused.
func TestBadInputAttachToAJob(t *testing.T) {
	d := start(t, nil)
	for name, h := range map[string]host.Host{"node": d.node.Host(), "daemon": d.client.Host()} {
		t.Run(name, func(t *testing.T) {
			_, err := h.Attach(t.Context(), "none", messages.Terminal{})
			coded(t, err, messages.NotFound, "")
			job := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
			_, err = h.Attach(t.Context(), job.ID, messages.Terminal{Rows: 1, Cols: 1})
			coded(t, err, messages.Unsupported, "")
			a, err := h.Attach(t.Context(), job.ID, messages.Terminal{})
			require.NoError(t, err)
			_, err = a.Write([]byte("x"))
			if err == nil {
				_, err = a.Read(make([]byte, 1))
			}
			coded(t, err, messages.NoInput, "")
			require.NoError(t, a.Close())
			found, err := host.Ask(t.Context(), h, messages.FindJob{Job: job.ID})
			require.NoError(t, err)
			require.False(t, found.Job.State.Ended(), "it goes on")
		})
	}
}
