package node

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/messages"
)

// pendingReply is a process of the actor system that receives the one reply to a request.
// It replaces the library's future, which has no channel to select on and overwrites its
// result with a second reply.
type pendingReply struct {
	pid   *actor.PID
	reply chan any
}

// replyAddress is the address of pending replies. The node resolves it itself, because the
// library's registry keeps a map of 300 bytes for nearly each id it ever had.
const replyAddress = "reply"

// expectReply makes the process for one request. The caller calls forgetReply afterwards.
func (n *Node) expectReply() *pendingReply {
	p := &pendingReply{pid: actor.NewPID(replyAddress, n.system.ProcessRegistry.NextId()), reply: make(chan any, 1)}
	n.replies.Store(p.pid.Id, p)
	return p
}

// forgetReply removes the process. A later reply becomes a dead letter.
func (n *Node) forgetReply(p *pendingReply) { n.replies.Delete(p.pid.Id) }

// findReply resolves the PID of a pending reply. It is an actor.AddressResolver.
func (n *Node) findReply(pid *actor.PID) (actor.Process, bool) {
	if pid.Address != replyAddress {
		return nil, false
	}
	p, waits := n.replies.Load(pid.Id)
	if !waits {
		return nil, false
	}
	return p.(*pendingReply), true
}

// SendUserMessage implements actor.Process: it takes the reply. It drops a second one, which
// an actor sends that failed after its answer.
func (p *pendingReply) SendUserMessage(_ *actor.PID, message any) {
	select {
	case p.reply <- unwrapReply(message):
	default:
	}
}

// SendSystemMessage implements actor.Process.
func (p *pendingReply) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (p *pendingReply) Stop(*actor.PID) {}

// unwrapReply returns the message in an envelope, or undelivered for a dead letter.
func unwrapReply(message any) any {
	m := actor.UnwrapEnvelopeMessage(message)
	if _, lost := m.(*actor.DeadLetterResponse); lost {
		return undelivered{}
	}
	return m
}

// undelivered replaces the reply to a request whose actor had just ended.
type undelivered struct{}

// Ask sends a request of package messages to the tree and returns its one reply. The reply
// may be a refusal, which is not an error of Ask: messages.Refusal returns the error in a
// reply. Ask returns early when ctx ends, and when the node fails or is shut down; the
// request may have taken effect then. After the end of ctx it sends nothing.
//
// Any value but a request of package messages is refused with invalid_params, also a
// pointer to one. ShutdownNode is refused: call Shutdown. The caller may reuse the
// request's slices after Ask has returned.
func (n *Node) Ask(ctx context.Context, request messages.Refusable) (any, error) {
	if err := checkRequest(request); err != nil {
		return nil, err
	}
	if _, ends := request.(messages.ShutdownNode); ends {
		return nil, &messages.Error{
			Code: messages.Refused, Reason: "shutdown", Message: "Ask cannot shut down a node: it would end only its actors", Hint: "call Shutdown",
		}
	}
	if typed, is := request.(messages.WriteInput); is {
		var err error
		if request, err = n.encodeKeys(ctx, typed); err != nil {
			return nil, err
		}
	}
	return n.ask(ctx, request)
}

// checkRequest refuses any value but a request of package messages. A pointer to one has its
// methods too, but no actor would handle it.
func checkRequest(request messages.Refusable) error {
	t := reflect.TypeOf(request)
	if t != nil && t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[messages.RunCommand]().PkgPath() {
		return nil
	}
	err := messages.Invalid("request", fmt.Sprintf("%T is not a request", request))
	err.Hint = "give a request of package messages, as a value: messages.FindJob{…}, not a pointer to one"
	return err
}

func (n *Node) ask(ctx context.Context, request messages.Refusable) (any, error) {
	if err := n.Err(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := n.expectReply()
	defer n.forgetReply(p)
	n.system.Root.RequestWithCustomSender(n.supervisor, cloneRequest(request), p.pid)
	engine, waits := n.waitsForEngine(request)
	var silent <-chan struct{}
	if waits {
		silent = engine.Unresponsive()
	}
	select {
	case reply := <-p.reply:
		return n.answer(reply, request)
	case <-ctx.Done():
		if _, waits := request.(messages.WaitJobs); waits && n.Err() == nil {
			n.system.Root.RequestWithCustomSender(n.supervisor, messages.AbandonWait{}, p.pid)
		}
		return nil, ctx.Err()
	case <-silent:
		return request.Refuse(unresponsiveError(engine)), nil
	case <-n.over:
		return n.lastAnswer(ctx, p, request)
	}
}

// waitsForEngine returns the engine that a request waits for, if the engine lives in
// another process.
func (n *Node) waitsForEngine(request messages.Refusable) (backends.RemoteEngine, bool) {
	switch request.(type) {
	case messages.StopCommand, messages.CloseSession, messages.CloseScope, messages.ReleaseScope:
		engine, apart := n.parts.engine.(backends.RemoteEngine)
		return engine, apart
	}
	return nil, false
}

// unresponsiveError returns the error of a request whose engine does not respond.
func unresponsiveError(engine backends.RemoteEngine) *messages.Error {
	err := engine.Health()
	if err == nil { // it responds again
		return &messages.Error{
			Code: messages.KeeperUnresponsive, Reason: "keeper", Message: "the keeper did not answer for a while: the jobs end when it does", Hint: "ask again",
		}
	}
	e := *err
	e.Message += ": the jobs end when it does"
	return &e
}

// lastAnswer returns the answer of a node that has ended.
func (n *Node) lastAnswer(ctx context.Context, p *pendingReply, request messages.Refusable) (any, error) {
	select { // the reply may have come with the end
	case reply := <-p.reply:
		return n.answer(reply, request)
	default:
	}
	if _, ends := request.(messages.ShutdownNode); ends && errors.Is(n.cause(), ErrClosed) {
		select { // a concurrent call ended the node
		case reply := <-p.reply:
			return n.answer(reply, request)
		case <-n.gone:
		case <-ctx.Done():
		}
	}
	return nil, n.cause()
}

// answer returns the reply to a request, or a refusal for an undelivered one. After the end
// of the node it returns the node's error, since nothing restarts.
func (n *Node) answer(reply any, request messages.Refusable) (any, error) {
	lost := reply == (undelivered{})
	refusal := messages.Refusal(reply)
	if lost || refusal != nil && passing(refusal) {
		if err := n.Err(); err != nil {
			return nil, err
		}
	}
	switch {
	case lost:
		return request.Refuse(&messages.Error{
			Code: messages.Internal, Reason: "unheard", Message: "the actor that handles the request is restarting", Hint: "ask again",
		}), nil
	case n.leaving.Load() && errors.Is(refusal, &messages.Error{Code: messages.Internal}): // the actor was stopped with the node
		return request.Refuse(&messages.Error{
			Code: messages.ShuttingDown, Message: "the node is shutting down; the request may have taken effect or not", Hint: "ask the next one",
		}), nil
	}
	return reply, nil
}

// An actor that is restarting refuses a request that it could answer a moment later, or has
// lost it.
const (
	askAgain   = 20 * time.Millisecond // from such a refusal to the next try
	maxAgain   = 16                    // such refusals in a row: above the failures that end an actor
	askTimeout = 30 * time.Second      // after that a request without a reply is sent again
)

// AskAgain calls Ask, and tries again while an actor restarts: after a refusal that says so, and
// after 30 s without a reply. request makes the request for each try. After too many tries
// AskAgain returns the last refusal.
func (n *Node) AskAgain(ctx context.Context, request func() messages.Refusable) (any, error) {
	return askRepeatedly(ctx, n.Ask, askTimeout, request)
}

// askRepeatedly implements AskAgain. lost is the time after which a request without a reply counts
// as lost; 0: never.
func askRepeatedly(ctx context.Context, ask func(context.Context, messages.Refusable) (any, error), lost time.Duration, request func() messages.Refusable) (any, error) {
	for again := 0; ; {
		once, cancel := ctx, func() {}
		if lost > 0 {
			once, cancel = context.WithTimeout(ctx, lost)
		}
		reply, err := ask(once, request())
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			again = 0
			continue
		case err != nil:
			return nil, err
		case !passing(messages.Refusal(reply)) || again == maxAgain:
			return reply, nil
		}
		again++
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func passing(err error) bool {
	var coded *messages.Error
	return errors.As(err, &coded) && coded.Passing()
}
