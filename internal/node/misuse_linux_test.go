package node_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"troupe/actors"
	"troupe/backends"
	"troupe/backends/pipe"
	"troupe/internal/node"
	"troupe/messages"
	"troupe/spill/view"
)

// A variable named node hides the package in most tests.
var errClosed = node.ErrClosed

// trap is a request of somebody else's making, whose refusal fails, too.
type trap struct{ messages.FindJob }

func (trap) Refuse(*messages.Error) any { panic("a refusal that fails") }

// What the tree would not know is refused at once: a stop that nobody does must not be
// acknowledged, and a question that nobody hears would be waited for for ever.
func TestAskTakesRequestsByValue(t *testing.T) {
	node, _ := host{}.open(t, actors.Limits{})
	defer shut(t, node)
	job, err := node.Run(context.Background(), messages.RunCommand{Program: messages.Program{Text: "exec sleep 600"}, Mode: messages.ModeAsync})
	require.NoError(t, err)
	for _, r := range []messages.Refusable{
		&messages.StopCommand{Job: job.ID, Grace: -1}, &messages.SignalCommand{Job: job.ID, Signal: "KILL"}, &messages.FindJob{Job: job.ID},
		&messages.ListJobs{}, &messages.WaitJobs{}, &messages.ShutdownNode{}, &messages.RunCommand{Program: messages.Program{Text: "true"}}, (*messages.StopCommand)(nil),
		trap{},
		nil,
	} {
		reply, err := node.Ask(context.Background(), r)
		require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams}, "%T", r)
		require.Nil(t, reply, "%T", r)
	}
	job, err = node.Job(context.Background(), job.ID)
	require.NoError(t, err)
	require.Equal(t, messages.Running, job.State)
}

// A run is waited for once: who comes later is told, and takes no other's answer.
func TestARunIsWaitedForOnce(t *testing.T) {
	node, _ := host{}.open(t, actors.Limits{})
	defer shut(t, node)
	ctx := context.Background()
	for name, first := range map[string]time.Duration{"after its result": time.Minute, "given up before": 0} {
		bound, cancel := context.WithTimeout(ctx, first)
		s := node.Submit(messages.RunCommand{Program: messages.Program{Text: "echo one"}})
		_, err := s.Wait(bound)
		cancel()
		require.Equal(t, first == 0, err != nil, name)
		_, err = s.Wait(ctx)
		require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams}, name)
		for range 3 {
			job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "echo stranger"}})
			require.NoError(t, err, name)
			require.Equal(t, "echo stranger", job.Command, name)
		}
	}
}

// Who follows an output reads it to its end, also when its job is forgotten meanwhile.
func TestAFollowerOutlivesTheRecord(t *testing.T) {
	node, _ := host{}.open(t, actors.Limits{})
	defer shut(t, node)
	ctx := context.Background()
	for name, begun := range map[string]int{"not read before": 0, "begun": 1, "at its end": 108_894} {
		job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "seq 1 20000"}})
		require.NoError(t, err)
		out, err := node.Output(ctx, job.ID, messages.Merged, 0)
		require.NoError(t, err)
		before := make([]byte, begun)
		_, err = io.ReadFull(out, before)
		require.NoError(t, err)
		_, err = node.Ask(ctx, messages.RemoveJob{Job: job.ID})
		require.NoError(t, err)
		rest, err := io.ReadAll(out)
		require.NoError(t, err, name)
		require.Len(t, rest, 108_894-begun, name)
		require.NoError(t, out.Close())
		_, err = out.Read(before)
		require.ErrorIs(t, err, os.ErrClosed)
	}
}

// A stream that a job does not have is not there, whoever asks for it.
func TestAStreamThatIsNone(t *testing.T) {
	node, _ := host{}.open(t, actors.Limits{})
	defer shut(t, node)
	ctx := context.Background()
	job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "echo x"}})
	require.NoError(t, err)
	for _, stream := range []messages.Stream{messages.Stderr, 9} {
		_, kept := node.KeepOutput(job, stream)
		_, since := node.Since(ctx, job.ID, stream, job.Created)
		_, output := node.Output(ctx, job.ID, stream, 0)
		for what, err := range map[string]error{"Keep": kept, "Since": since, "Output": output} {
			require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams}, "%s %s", what, stream)
		}
	}
}

// A node that was shut down says so, whatever is asked of it.
func TestAClosedNodeSaysSo(t *testing.T) {
	node, _ := host{}.open(t, actors.Limits{})
	ctx := context.Background()
	job, err := node.Run(ctx, messages.RunCommand{Program: messages.Program{Text: "echo x"}})
	require.NoError(t, err)
	shut(t, node)
	_, err = node.KeepOutput(job, messages.Merged)
	require.ErrorIs(t, err, errClosed)
	_, err = node.View(job, view.Options{Bytes: 100})
	require.ErrorIs(t, err, errClosed)
	err = nil
	for _, err = range node.OutputOrder(job) {
		_ = err
	}
	require.ErrorIs(t, err, errClosed)
}

// The failure of the supervisor is known, whatever else fails with it.
func TestANodeFailsThoughItsRefusalDoes(t *testing.T) {
	fails := func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(ctx actor.ReceiverContext, message *actor.MessageEnvelope) {
			if r, is := message.Message.(messages.FindJob); is && r.Job == "trap" {
				message.Message = trap{r}
				panic("broken on purpose")
			}
			next(ctx, message)
		}
	}
	node, err := node.Open(context.Background(), node.Options{Dir: filepath.Join(t.TempDir(), "out"), Middleware: []actor.ReceiverMiddleware{fails}})
	require.NoError(t, err)
	_, err = node.Job(context.Background(), "trap")
	require.ErrorContains(t, err, "broken on purpose")
	<-node.Failed()
	require.ErrorContains(t, node.Err(), "broken on purpose")
	_ = node.Shutdown(context.Background(), messages.ShutdownNode{})
}

// nobodys are logs without an engine that would write them.
type nobodys struct{ actors.Logs }

// Options by which every job would fail are refused when the node is opened.
func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]node.Options{
		"a prefix of two lines":   {Prefix: "echo one\necho two"},
		"a relative Dir":          {Dir: "x/y"},
		"a relative WorkDir":      {WorkDir: "x"},
		"a prefix that is none":   {JobPrefix: "a/b c"},
		"a prefix with a number":  {JobPrefix: "node1"},
		"a shell without a word":  {Shells: map[string][]string{"x": nil}},
		"a shell without a name":  {Shells: map[string][]string{"": {"sh", "-c"}}},
		"a shell without program": {Shells: map[string][]string{"x": {"", "-c"}}},
		"a WorkDir with a NUL":    {WorkDir: "/tmp/\x00"},
		"a Socket with a NUL":     {Socket: "/tmp/\x00"},
		"a State with a NUL":      {State: "/tmp/\x00"},
		"a backend that is none":  {Backends: map[string]backends.Backend{"x": nil}},
		"a pipe without Logs":     {Backends: map[string]backends.Backend{"pipe": pipe.New(nil, pipe.Options{})}},
		"Logs of nobody":          {Logs: nobodys{}},
	} {
		node, err := node.Open(context.Background(), o)
		var coded *messages.Error
		if !errors.As(err, &coded) || coded.Code != messages.InvalidParams || !strings.Contains(coded.Message+coded.Hint, "Options.") {
			t.Errorf("%s: %v", name, err)
		}
		if node != nil {
			t.Errorf("%s: there is a node", name)
		}
	}
}
