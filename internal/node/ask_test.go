package node

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/messages"
)

// rebuilt is a node whose parts are being made anew: it answers with what is next,
// and loses the question where that is nil.
type rebuilt struct {
	next  []any
	asked []messages.Refusable
}

func (n *rebuilt) ask(ctx context.Context, request messages.Refusable) (any, error) {
	n.asked = append(n.asked, request)
	reply := n.next[0]
	if len(n.next) > 1 { // the last one stays
		n.next = n.next[1:]
	}
	if reply == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return reply, nil
}

// A question outlives the refusal of a part that is being made anew, and its own
// loss; each time it is made anew, too.
func TestAQuestionIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		anew := messages.RequestRejected{Err: messages.Error{Code: messages.Internal, Reason: "unheard"}}
		no := messages.RequestRejected{Err: *messages.Invalid("stream", "there is none")}
		from := int64(0)
		request := func() messages.Refusable {
			from++
			return messages.FollowOutput{From: from}
		}
		for _, c := range []struct {
			next []any
			lost time.Duration
			want any
			asks int
			took time.Duration
		}{
			{[]any{messages.Acknowledged{}}, time.Second, messages.Acknowledged{}, 1, 0},
			{[]any{no}, time.Second, no, 1, 0},
			{[]any{anew, anew, messages.Acknowledged{}}, 0, messages.Acknowledged{}, 3, 2 * askAgain},
			{[]any{anew, nil, no}, time.Second, no, 3, askAgain + time.Second},
			{[]any{anew}, time.Second, anew, 1 + maxAgain, maxAgain * askAgain},
		} {
			node, begun := &rebuilt{next: c.next}, time.Now()
			from = 0
			got, err := askRepeatedly(t.Context(), node.ask, c.lost, request)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Len(t, node.asked, c.asks)
			require.Equal(t, messages.FollowOutput{From: int64(c.asks)}, node.asked[c.asks-1])
			require.Equal(t, c.took, time.Since(begun))
		}
	})
}

// It ends with whoever asks, and with the node.
func TestAQuestionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		anew := messages.RequestRejected{Err: messages.Error{Code: messages.Internal}}
		request := func() messages.Refusable { return messages.FollowOutput{} }
		for _, next := range [][]any{{nil}, {anew, nil}, {anew}} {
			ctx, cancel := context.WithTimeout(t.Context(), askAgain/2)
			_, err := askRepeatedly(ctx, (&rebuilt{next: next}).ask, time.Hour, request)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		closed := func(context.Context, messages.Refusable) (any, error) { return nil, ErrClosed }
		_, err := askRepeatedly(t.Context(), closed, time.Hour, request)
		require.ErrorIs(t, err, ErrClosed)
	})
}

// treeless is a node without its tree of actors.
func treeless() *Node {
	n := &Node{system: newSystem(Options{Log: slog.New(slog.DiscardHandler)})}
	n.system.ProcessRegistry.RegisterAddressResolver(n.findReply)
	return n
}

// A request has one reply: a second one reaches neither it nor another request.
func TestASecondReplyIsNobodys(t *testing.T) {
	node := treeless()
	first, other := node.expectReply(), node.expectReply()
	node.system.Root.Send(first.pid, "yes")
	node.system.Root.Send(first.pid, "no")
	require.Equal(t, "yes", <-first.reply)
	require.Empty(t, first.reply)
	node.forgetReply(first)
	node.system.Root.Send(actor.NewPID(first.pid.Address, first.pid.Id), "no")
	require.Empty(t, first.reply)
	require.Empty(t, other.reply)
}

// The reply to a request that reaches no actor says so.
func TestARequestThatMeetsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := treeless()
		p := node.expectReply()
		node.system.Root.RequestWithCustomSender(actor.NewPID(node.system.Address(), "gone"), messages.ListScopes{}, p.pid)
		require.Equal(t, undelivered{}, <-p.reply)
	})
}

// expected counts the requests of a node that wait for a reply.
func expected(n *Node) (count int) {
	n.replies.Range(func(any, any) bool {
		count++
		return true
	})
	return count
}

// A request leaves no process behind, whether it has a reply, is given up, or comes too late.
func TestARequestLeavesNoProcess(t *testing.T) {
	node, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "o")})
	require.NoError(t, err)
	require.Zero(t, expected(node))
	background := messages.RunCommand{Program: messages.Program{Argv: []string{"sleep", "100"}}, Mode: messages.ModeAsync}
	job, err := node.Run(t.Context(), background)
	require.NoError(t, err)
	require.Zero(t, expected(node))

	short, cancel := context.WithCancel(t.Context())
	run := node.Submit(background)
	require.Equal(t, 1, expected(node))
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = node.Ask(short, messages.WaitJobs{Jobs: []messages.JobID{job.ID}})
	require.ErrorIs(t, err, context.Canceled)
	_, _ = run.Wait(short) // its reply may have come before
	require.Zero(t, expected(node))

	late := node.Submit(background)
	require.NoError(t, node.Shutdown(t.Context(), messages.ShutdownNode{Grace: -1}))
	_, _ = late.Wait(t.Context())
	_, err = node.Submit(background).Wait(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	require.Zero(t, expected(node))
}

// A node that has ended does not say of a request that it lost with an actor that the job
// is unharmed and that it be asked again: nobody will answer.
func TestTheLastRefusalsAreOfAClosedNode(t *testing.T) {
	node, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "o")})
	require.NoError(t, err)
	request := messages.WriteInput{Job: "j1"}
	lost, final := request.Refuse(&messages.Error{Code: messages.Internal, Reason: "actor_failed"}), request.Refuse(messages.NoSuchJob("j1"))
	for _, refusal := range []any{lost, final} {
		reply, err := node.answer(refusal, request)
		require.NoError(t, err)
		require.Equal(t, refusal, reply)
	}
	require.NoError(t, node.Shutdown(t.Context(), messages.ShutdownNode{}))
	_, err = node.answer(lost, request)
	require.ErrorIs(t, err, ErrClosed)
	reply, err := node.answer(final, request)
	require.NoError(t, err)
	require.Equal(t, final, reply)
}

// A request has its reply, or an error.
func TestAskForOneReply(t *testing.T) {
	node, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "o")})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(context.Background(), messages.ShutdownNode{})) }()
	opened, err := host.Ask(t.Context(), node.Host(), messages.OpenScope{Path: "a"})
	require.NoError(t, err)
	require.Equal(t, messages.ScopePath("a"), opened.Path)
	_, err = host.Ask(t.Context(), node.Host(), messages.FindJob{Job: "j9"})
	require.ErrorIs(t, err, &messages.Error{Code: messages.NotFound})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = host.Ask(ended, node.Host(), messages.ListScopes{})
	require.ErrorIs(t, err, context.Canceled)
}
