package troupe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/messages"
)

// asker is the edge of the tree for one question at a time: a process in the
// actor system that takes exactly one reply. It is used again after a reply,
// since every request has one; after a question that was given up it is not,
// since its reply may still come.
type asker struct {
	pid   *actor.PID // of the question in hand
	reply chan any

	mu       sync.Mutex
	question uint32
}

// SendUserMessage implements actor.Process: it takes the reply. A second one is
// said by an actor that had answered when it failed; it must not pass for the reply
// to the next question.
func (a *asker) SendUserMessage(to *actor.PID, message any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if to.RequestId != a.question {
		return
	}
	select {
	case a.reply <- heardBy(message):
	default: // the first one counts
	}
}

// next makes it ready for another question.
func (a *asker) next() {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.reply:
	default:
	}
	a.question++
	a.pid = actor.NewPID(a.pid.Address, a.pid.Id)
	a.pid.RequestId = a.question
}

// heardBy is what the edge of the tree takes a message for.
func heardBy(message any) any {
	m := actor.UnwrapEnvelopeMessage(message)
	if _, lost := m.(*actor.DeadLetterResponse); lost {
		return unheard{}
	}
	return m
}

// unheard stands for the reply of a request that met nobody: the actor it was
// passed on to had just gone.
type unheard struct{}

// SendSystemMessage implements actor.Process.
func (a *asker) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (a *asker) Stop(*actor.PID) {}

// askers keeps idle askers: registering one costs more than the question.
type askers struct {
	system *actor.ActorSystem
	mu     sync.Mutex
	idle   []*asker
	closed bool
}

// idleAskers bounds how many are kept: as many as questions are asked at once.
const idleAskers = 64

func (a *askers) take() *asker {
	a.mu.Lock()
	if n := len(a.idle); n > 0 {
		k := a.idle[n-1]
		a.idle = a.idle[:n-1]
		a.mu.Unlock()
		k.next()
		return k
	}
	a.mu.Unlock()
	k := &asker{reply: make(chan any, 1)}
	k.pid, _ = a.system.ProcessRegistry.Add(k, "ask"+a.system.ProcessRegistry.NextId())
	return k
}

func (a *askers) give(k *asker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.idle) >= idleAskers {
		a.drop(k)
		return
	}
	a.idle = append(a.idle, k)
}

func (a *askers) drop(k *asker) { a.system.ProcessRegistry.Remove(k.pid) }

// close unregisters the idle askers, and those that come back.
func (a *askers) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, k := range a.idle {
		a.drop(k)
	}
	a.idle = nil
}

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
	if _, ends := request.(messages.ShutDown); ends {
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
	k := n.askers.take()
	n.system.Root.RequestWithCustomSender(n.supervisor, owned(request), k.pid)
	engine, waits := n.waitsForEngine(request)
	var silent <-chan struct{}
	if waits {
		silent = engine.Silent()
	}
	select {
	case reply := <-k.reply:
		n.askers.give(k)
		return n.answer(reply, request)
	case <-ctx.Done():
		if _, waits := request.(messages.AwaitJobs); waits && n.Err() == nil {
			n.system.Root.RequestWithCustomSender(n.supervisor, messages.WithdrawWait{}, k.pid)
		}
		n.askers.drop(k)
		return nil, ctx.Err()
	case <-silent:
		n.askers.drop(k)
		return request.Refuse(hungUp(engine)), nil
	case <-n.over:
		return n.lastAnswer(ctx, k, request)
	}
}

// waitsForEngine gives the engine that a request waits for, if that lives in
// another process: for the end of jobs.
func (n *Node) waitsForEngine(request messages.Refusable) (backends.Apart, bool) {
	switch request.(type) {
	case messages.StopCommand, messages.CloseSession, messages.CloseScope, messages.LeaveScope:
		engine, apart := n.parts.engine.(backends.Apart)
		return engine, apart
	}
	return nil, false
}

// hungUp is what a request hears whose end nobody can tell now.
func hungUp(engine backends.Apart) *messages.Error {
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
func (n *Node) lastAnswer(ctx context.Context, k *asker, request messages.Refusable) (any, error) {
	select { // the reply may have come with the end
	case reply := <-k.reply:
		n.askers.give(k)
		return n.answer(reply, request)
	default:
	}
	if _, ends := request.(messages.ShutDown); ends && errors.Is(n.cause(), ErrClosed) {
		select { // another has heard that the node has ended, and so will this one
		case reply := <-k.reply:
			n.askers.give(k)
			return n.answer(reply, request)
		case <-n.gone:
		case <-ctx.Done():
		}
	}
	n.askers.drop(k)
	return nil, n.cause()
}

// answer is the reply of a request, also of one that met nobody. Of a node that has ended
// nothing is being made anew, and it is wrong to say so.
func (n *Node) answer(reply any, request messages.Refusable) (any, error) {
	lost := reply == (unheard{})
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
