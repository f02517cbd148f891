package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe"
	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// A command that fails is an *ExitError, and its output is returned all the same.
func ExampleNode_Output() {
	ctx := context.Background()
	node, err := troupe.Open(ctx, troupe.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := node.Output(ctx, troupe.Sh("echo hello; exit 3"))
	var exit *troupe.ExitError
	fmt.Printf("%q, %v, %t\n", text, err, errors.As(err, &exit))
	fmt.Println(node.Close())
	// Output:
	// "hello\n", job j1 exited with 3, true
	// <nil>
}

// onEach runs a test on a node of this process and on one of a daemon.
func onEach(t *testing.T, do func(*testing.T, *troupe.Node)) {
	t.Helper()
	dir := func(t *testing.T) string {
		dir, err := os.MkdirTemp("", "tr") // the path of a socket must be short
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	t.Run("in this process", func(t *testing.T) {
		n, err := troupe.Open(t.Context(), troupe.Options{Dir: dir(t) + "/out"})
		require.NoError(t, err)
		defer func() { require.NoError(t, n.Close()) }()
		do(t, n)
	})
	t.Run("in a daemon", func(t *testing.T) {
		dir := dir(t)
		d, err := node.Open(t.Context(), node.Options{Dir: filepath.Join(dir, "out"), WorkDir: dir})
		require.NoError(t, err)
		listener, err := http.Listen(filepath.Join(dir, "s", "d.sock"))
		require.NoError(t, err)
		server, served := http.New(http.Options{Node: http.AdaptNode(d), Version: "test"}), make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		n, err := troupe.Connect(t.Context(), filepath.Join(dir, "s", "d.sock"))
		require.NoError(t, err)
		do(t, n)
		require.NoError(t, n.Close())
		require.NoError(t, d.Shutdown(context.Background(), messages.ShutdownNode{}))
		require.NoError(t, server.Close(context.Background()))
		require.NoError(t, <-served)
	})
}

// Each end but exit 0 is an error that says how the job ended, with its record.
func TestEndsAreErrors(t *testing.T) {
	onEach(t, func(t *testing.T, n *troupe.Node) {
		late := troupe.Sh("sleep 600")
		late.Timeout = 50 * time.Millisecond
		for name, c := range map[string]struct {
			command troupe.Command
			is      error
			outcome messages.Outcome
			text    string
		}{
			"exit 0":     {troupe.Exec("true"), nil, messages.Exited, ""},
			"exit 5":     {troupe.Sh("exit 5"), nil, messages.Exited, "exited with 5"},
			"signal":     {troupe.Sh("kill -9 $$"), nil, messages.Signaled, "was ended by signal KILL"},
			"timeout":    {late, troupe.ErrTimedOut, messages.TimedOut, "was stopped after its timeout of 50ms"},
			"no program": {troupe.Exec("/nowhere/program"), troupe.ErrNotStarted, messages.FailedToStart, "failed_to_start: "},
		} {
			job, err := n.Run(t.Context(), c.command)
			require.Equal(t, c.outcome, job.End.Outcome, name)
			if c.text == "" {
				require.NoError(t, err, name)
				continue
			}
			var exit *troupe.ExitError
			require.ErrorAs(t, err, &exit, name)
			require.Equal(t, job.UID, exit.Record.UID, name)
			require.ErrorContains(t, err, c.text, name)
			for _, other := range []error{troupe.ErrTimedOut, troupe.ErrCancelled, troupe.ErrNotStarted, troupe.ErrLost} {
				require.Equal(t, other == c.is, errors.Is(err, other), "%s: %v", name, other)
			}
		}
		_, err := n.Start(t.Context(), troupe.Exec("/nowhere/program"))
		require.ErrorIs(t, err, troupe.ErrNotStarted)
		require.ErrorIs(t, err, &troupe.Error{Code: messages.SpawnFailed})
		_, err = n.Run(t.Context(), troupe.Command{})
		require.ErrorIs(t, err, &troupe.Error{Code: messages.InvalidParams})
	})
}

// A Run that its context ends stops the job and all its processes before it returns.
func TestRunEndsWithItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, n *troupe.Node) {
		ctx, cancel := context.WithCancelCause(t.Context())
		command := troupe.Sh("sleep 600 & echo $!; exec sleep 600")
		command.Name = "both"
		go func() {
			for event, err := range n.Events(ctx, troupe.Events{}) {
				if _, started := event.Fact.(messages.CommandStarted); started || err != nil {
					cancel(nil)
					return
				}
			}
		}()
		job, err := n.Run(ctx, command)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, messages.Cancelled, job.End.Outcome)
		require.Zero(t, job.End.Children)
		require.Empty(t, job.End.Survivors)
	})
}

// Output returns when the command has ended, also if a process that it left holds the pipe.
func TestOutputIsNotHeldByAPipe(t *testing.T) {
	onEach(t, func(t *testing.T, n *troupe.Node) {
		text, err := n.Output(t.Context(), troupe.Sh("echo here; sleep 600 &"))
		require.NoError(t, err)
		require.Equal(t, "here\n", text)
		command := troupe.Sh("echo out; echo err >&2")
		command.Streams = messages.SeparateStreams
		text, err = n.Output(t.Context(), command)
		require.NoError(t, err)
		require.Equal(t, "out\n", text)
		_, err = n.Output(t.Context(), troupe.Sh("head -c 17000000 /dev/zero"))
		require.ErrorIs(t, err, &troupe.Error{Code: messages.TooLarge})
	})
}

// A job is found again, signalled, promoted, read and stopped.
func TestJobs(t *testing.T) {
	onEach(t, func(t *testing.T, n *troupe.Node) {
		command := troupe.Sh("trap 'echo got it; exit 4' INT; echo err >&2; echo out; while :; do :; done")
		command.Name, command.Streams = "traps", messages.SeparateStreams
		started, err := n.Start(t.Context(), command)
		require.NoError(t, err)
		job, err := n.Job(t.Context(), "traps")
		require.NoError(t, err)
		require.Equal(t, started.ID(), job.ID())
		out := job.Stdout(t.Context())
		first := make([]byte, 4)
		_, err = io.ReadFull(out, first)
		require.NoError(t, err)
		require.NoError(t, job.Signal(t.Context(), "INT"))
		record, err := job.Wait(t.Context())
		require.ErrorContains(t, err, "job traps exited with 4")
		require.Equal(t, 4, record.End.Shell())
		rest, err := io.ReadAll(out)
		require.NoError(t, err)
		require.Equal(t, "out\ngot it\n", string(first)+string(rest))
		errs, err := io.ReadAll(job.Stderr(t.Context()))
		require.NoError(t, err)
		require.Equal(t, "err\n", string(errs))
		require.NoError(t, out.Close())
		require.NoError(t, job.Stop(t.Context()), "a finished job is stopped")

		front := make(chan troupe.Record, 1)
		command = troupe.Sh("exec sleep 600")
		command.Name = "front"
		go func() {
			record, err := n.Run(context.Background(), command)
			if err != nil {
				t.Error(err)
			}
			front <- record
		}()
		for event, err := range n.Events(t.Context(), troupe.Events{}) {
			require.NoError(t, err)
			if began, is := event.Fact.(messages.CommandStarted); is && began.Job.Name == "front" {
				break
			}
		}
		job, err = n.Job(t.Context(), "front")
		require.NoError(t, err)
		require.NoError(t, job.Promote(t.Context()))
		require.True(t, (<-front).Background)
		require.NoError(t, job.Stop(t.Context()))
		record, err = job.Record(t.Context())
		require.NoError(t, err)
		require.Equal(t, messages.Cancelled, record.End.Outcome)

		var all []string
		for record, err := range n.Jobs(t.Context(), "") {
			require.NoError(t, err)
			all = append(all, record.Name)
		}
		require.Equal(t, []string{"traps", "front"}, all)
		_, err = n.Job(t.Context(), "nothing")
		require.ErrorIs(t, err, &troupe.Error{Code: messages.NotFound})
	})
}

// Facts that are not held any more are told, as one event.
func TestDroppedEventsAreTold(t *testing.T) {
	onEach(t, func(t *testing.T, n *troupe.Node) {
		for event, err := range n.Events(t.Context(), troupe.Events{After: 1 << 40}) {
			require.NoError(t, err)
			dropped, is := event.Fact.(messages.FactsDropped)
			require.True(t, is, "%T", event.Fact)
			require.Greater(t, dropped.From, dropped.To, "the numbers began anew")
			return
		}
	})
}

// A node that is closed says so. Connect without a daemon does, too.
func TestClosed(t *testing.T) {
	n, err := troupe.Open(t.Context(), troupe.Options{})
	require.NoError(t, err)
	require.NoError(t, n.Close())
	_, err = n.Run(t.Context(), troupe.Sh("true"))
	require.ErrorIs(t, err, troupe.ErrClosed)
	_, err = troupe.Connect(t.Context(), filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "no daemon listens at")
}
