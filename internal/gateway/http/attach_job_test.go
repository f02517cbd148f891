package http_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
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
			_, err = a.Read(make([]byte, 1))
			require.Error(t, err)
		})
	}
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
