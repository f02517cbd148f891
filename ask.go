package troupe

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

// pendingReply is a process of the actor system that receives the one reply to one
// request. The library's future does not serve: it has no channel to select on, and a
// second reply overwrites the result of the first.
type pendingReply struct {
	pid   *actor.PID
	reply chan any
}

// replyAddress is the address of those processes. The node resolves it itself, because
// the registry of the library keeps a map of 300 bytes for nearly each id it ever had.
const replyAddress = "reply"

// expectReply makes the process for one request. The caller forgets it when it no
// longer waits.
func (n *Node) expectReply() *pendingReply {
	p := &pendingReply{pid: actor.NewPID(replyAddress, n.system.ProcessRegistry.NextId()), reply: make(chan any, 1)}
	n.replies.Store(p.pid.Id, p)
	return p
}

// forgetReply removes the process: a reply that comes later is a dead letter.
func (n *Node) forgetReply(p *pendingReply) { n.replies.Delete(p.pid.Id) }

// findReply finds the process of a PID. It is an actor.AddressResolver.
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

// SendUserMessage implements actor.Process: it takes the reply. It drops a second one,
// which an actor sends that failed after its answer.
func (p *pendingReply) SendUserMessage(_ *actor.PID, message any) {
	select {
	case p.reply <- heardBy(message):
	default:
	}
}

// SendSystemMessage implements actor.Process.
func (p *pendingReply) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (p *pendingReply) Stop(*actor.PID) {}

// heardBy is what the edge of the tree takes a message for.
func heardBy(message any) any {
	m := actor.UnwrapEnvelopeMessage(message)
	if _, lost := m.(*actor.DeadLetterResponse); lost {
		return undelivered{}
	}
	return m
}

// undelivered stands for the reply of a request that met nobody: the actor it was
// passed on to had just gone.
type undelivered struct{}

// Ask sends a request of package messages to the tree and returns its one
// reply. That may be a refusal, which is no error of Ask: messages.Refusal gives the
// error in a reply. Ask ends early with ctx, whose end means that the answer is unknown,
// not that it is no, and when the node fails or is shut down. With a ctx that
// has ended before nothing is asked. ShutDown is refused: Shutdown takes apart
// what the tree does not know of, and knows whether jobs can be kept. What is no request
// of package messages, as a pointer to one is not, is invalid_params. What a request
// refers to is the caller's again when Ask returns, as it is behind Submit.
func (n *Node) Ask(ctx context.Context, request messages.Refusable) (any, error) {
	if err := checkRequest(request); err != nil {
		return nil, err
	}
	if _, ends := request.(messages.ShutdownNode); ends {
		return nil, &messages.Error{
			Code: messages.Refused, Reason: "shutdown", Message: "a node is not shut down by Ask: its tree alone would end", Hint: "call Shutdown",
		}
	}
	return n.ask(ctx, request)
}

// AskFor asks as Ask does, for the reply that grants what was asked for, whose type is the
// caller's to know (package messages lists them): a refusal is its error.
//
//	list, err := troupe.AskFor[messages.ScopeList](ctx, node, messages.ListScopes{})
func AskFor[T any](ctx context.Context, n *Node, request messages.Refusable) (T, error) {
	var none T
	answer, err := n.Ask(ctx, request)
	if err != nil {
		return none, err
	}
	if granted, ok := answer.(T); ok {
		return granted, nil
	}
	if err := messages.Refusal(answer); err != nil {
		return none, err
	}
	wrong := messages.Invalid("reply", fmt.Sprintf("%T was answered by %T, which is no %T", request, answer, none))
	wrong.Hint = "the request was carried out; package messages says which reply answers it"
	return none, wrong
}

// checkRequest refuses what the tree would not know: a pointer to a request has its
// methods, too, and nobody would act on it.
func checkRequest(request messages.Refusable) error {
	t := reflect.TypeOf(request)
	if t != nil && t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[messages.RunCommand]().PkgPath() {
		return nil
	}
	err := messages.Invalid("request", fmt.Sprintf("%T is no request", request))
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
		return request.Refuse(hungUp(engine)), nil
	case <-n.over:
		return n.lastAnswer(ctx, p, request)
	}
}

// waitsForEngine gives the engine that a request waits for, if that lives in
// another process: for the end of jobs.
func (n *Node) waitsForEngine(request messages.Refusable) (backends.RemoteEngine, bool) {
	switch request.(type) {
	case messages.StopCommand, messages.CloseSession, messages.CloseScope, messages.ReleaseScope:
		engine, apart := n.parts.engine.(backends.RemoteEngine)
		return engine, apart
	}
	return nil, false
}

// hungUp is what a request hears whose end nobody can tell now.
func hungUp(engine backends.RemoteEngine) *messages.Error {
	err := engine.Health()
	if err == nil { // it goes on at this moment
		return &messages.Error{
			Code: messages.KeeperUnresponsive, Reason: "keeper", Message: "the keeper did not answer for a while: the jobs end when it does", Hint: "ask again",
		}
	}
	e := *err
	e.Message += ": the jobs end when it does"
	return &e
}

// lastAnswer is the answer of a node that has ended.
func (n *Node) lastAnswer(ctx context.Context, p *pendingReply, request messages.Refusable) (any, error) {
	select { // the reply may have come with the end
	case reply := <-p.reply:
		return n.answer(reply, request)
	default:
	}
	if _, ends := request.(messages.ShutdownNode); ends && errors.Is(n.cause(), ErrClosed) {
		select { // another has heard that the node has ended, and so will this one
		case reply := <-p.reply:
			return n.answer(reply, request)
		case <-n.gone:
		case <-ctx.Done():
		}
	}
	return nil, n.cause()
}

// answer is the reply of a request, also of one that met nobody. Of a node that has ended
// nothing is being made anew, and it is wrong to say so.
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
			Code: messages.Internal, Reason: "unheard", Message: "the part of the node that holds the job is being made anew", Hint: "ask again",
		}), nil
	case n.leaving.Load() && errors.Is(refusal, &messages.Error{Code: messages.Internal}): // who held it did not fail, but was let go
		return request.Refuse(&messages.Error{
			Code: messages.ShuttingDown, Message: "the node is shutting down, and did not wait for what was asked: it may have been done or not", Hint: "ask the next one",
		}), nil
	}
	return reply, nil
}

// A part of the node that is being made anew refuses what it would do a moment
// later, or has lost the question.
const (
	askAgain  = 20 * time.Millisecond // from such a refusal to the next question
	maxAgain  = 16                    // of them in a row: more than an actor may fail
	askedLost = 30 * time.Second      // how long a question is believed to be held
)

// AskAgain asks until an answer stands, where Ask returns the refusal of a part
// of the node that is being made anew, and waits for one that lost the question.
// request makes the question each time. What is still refused after that is
// returned, as Ask would.
func (n *Node) AskAgain(ctx context.Context, request func() messages.Refusable) (any, error) {
	return insist(ctx, n.Ask, askedLost, request)
}

// insist is AskAgain with the time after which a question counts as lost; 0: it
// may take its time.
func insist(ctx context.Context, ask func(context.Context, messages.Refusable) (any, error), lost time.Duration, request func() messages.Refusable) (any, error) {
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
