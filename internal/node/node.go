package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors"
	"troupe/backends/heap"
	"troupe/backends/threads"
	"troupe/messages"
)

// Node is a supervisor tree in this process. Its methods are safe for concurrent use.
type Node struct {
	system     *actor.ActorSystem
	supervisor *actor.PID
	replies    sync.Map // *pendingReply by the id of its PID
	logs       actors.Logs
	parts      components
	full       fullScreens
	liveReads  chan struct{} // a place for each reading of live states

	gone   chan struct{} // closed when every actor has ended
	over   chan struct{} // closed when the node answers no more
	ended  chan struct{} // closed when the engine and the store have ended
	once   sync.Once     // closes over
	ending sync.Once     // picks the call that ends the engine and the store

	leaving atomic.Bool // Shutdown was called

	mu     sync.Mutex
	failed error
}

// ErrClosed is the error of calls to a node that has ended. During the shutdown requests are
// refused with the code shutting_down.
var ErrClosed = errors.New("the node is closed")

// Open starts a node and returns when it takes requests. ctx bounds only the opening. End
// the node with Shutdown.
func Open(ctx context.Context, o Options) (*Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.OwnProcess {
		heap.Tune(heap.Floor)
		defer threads.Reserve()() // they start beside what follows
	}
	p, err := o.build()
	if err != nil {
		return nil, err
	}
	if p.past, err = o.before(ctx, p); err != nil {
		return nil, errors.Join(err, survivorsError(p.stop(p.canKeep())), p.close())
	}
	n := &Node{logs: p.logs, parts: p, liveReads: make(chan struct{}, liveAtOnce), over: make(chan struct{}), gone: make(chan struct{}), ended: make(chan struct{})}
	n.system = newSystem(o)
	n.system.ProcessRegistry.RegisterAddressResolver(n.findReply)
	n.supervisor, err = actors.Spawn(n.system, o.deps(p, n))
	if err != nil {
		return nil, errors.Join(err, survivorsError(p.stop(p.canKeep())), p.close())
	}
	if err := n.opened(ctx); err != nil { // the adopted jobs live on where they can
		return nil, errors.Join(err, n.Shutdown(ctx, messages.ShutdownNode{KeepJobs: p.canKeep(), Reason: "it could not be opened"}))
	}
	return n, nil
}

// opened waits until the node has read its journal. From then on it handles the requests of
// one caller in their order.
func (n *Node) opened(ctx context.Context) error {
	reply, err := n.Ask(ctx, messages.ListScopes{})
	if err != nil {
		return err
	}
	return messages.Refusal(reply)
}

// fail ends the node after its supervisor has failed.
func (n *Node) fail(err error) {
	n.mu.Lock()
	if n.failed == nil {
		n.failed = err
	}
	n.mu.Unlock()
	n.once.Do(func() { close(n.over) })
}

// Failed returns a channel that is closed when the node answers no more: it was shut down,
// or its supervisor failed. Err tells which.
func (n *Node) Failed() <-chan struct{} { return n.over }

// Err returns why the node answers no more, or nil while it does.
func (n *Node) Err() error {
	select {
	case <-n.over:
		return n.cause()
	default:
		return nil
	}
}

func (n *Node) cause() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed != nil {
		return n.failed
	}
	return ErrClosed
}

// Shutdown ends the node in order. It refuses new work, stops every job with its own grace or
// r.Grace, and sends every pending reply and notice. Processes that could not be stopped are
// a *SurvivorsError. When ctx ends first, the remaining jobs are killed at once, and may
// have no outcome.
//
// A Journal that hangs delays the return to one second after the end of ctx. If ctx has no
// end, it delays it by some 20 s. Both are errors. An open Subscription with unread facts
// delays it by two seconds. Shutdown may be called again; no call returns nil before the node
// has ended. If the engine lives in this process, processes of KeepChildren are stopped too,
// and KeepJobs is refused with the code unsupported: the node goes on.
func (n *Node) Shutdown(ctx context.Context, r messages.ShutdownNode) error {
	if r.KeepJobs && !n.parts.canKeep() {
		return &messages.Error{
			Code: messages.Unsupported, Reason: "keep_jobs", Message: "the jobs of this node cannot outlive it, because they are children of its process",
			Hint: "shut it down without keeping them, or wait for them first",
		}
	}
	n.leaving.Store(true)
	reply, err := n.ask(ctx, r)
	if errors.Is(err, ErrClosed) {
		return n.awaitEnd(ctx)
	}
	var left []messages.Survivor
	if e, ok := reply.(messages.ShutdownDone); ok {
		left = e.Survivors
	}
	n.once.Do(func() { close(n.over) })
	first := false
	n.ending.Do(func() { first = true })
	if !first {
		return errors.Join(err, n.awaitEnd(ctx), survivorsError(left))
	}
	defer close(n.ended)
	n.system.Root.Stop(n.supervisor)
	hung := n.awaitActors(ctx)
	n.system.Shutdown()
	left = append(left, n.parts.stop(r.KeepJobs)...)
	return errors.Join(err, hung, n.parts.close(), survivorsError(left))
}

// Time for the actors to end, from the stop of the supervisor and from the end of ctx. They
// wait for nothing, unless code given to them hangs; on a busy machine the last of thousands
// may be scheduled after seconds.
const (
	endTimeout         = 10 * time.Second
	endTimeoutAfterCtx = time.Second
)

// awaitActors waits until every actor has ended, or its time is over.
func (n *Node) awaitActors(ctx context.Context) error {
	late := time.NewTimer(endTimeout)
	defer late.Stop()
	select {
	case <-n.gone:
		return nil
	case <-late.C:
		return &messages.Error{
			Code: messages.Internal, Reason: "hangs", Message: "the node's actors have not ended: code given in Options hangs",
			Hint: "check Options.Journal, Webhooks and Middleware",
		}
	case <-ctx.Done():
		late.Reset(endTimeoutAfterCtx)
	}
	select {
	case <-n.gone:
		return nil
	case <-late.C:
		return fmt.Errorf("the node's actors have not ended: %w", ctx.Err())
	}
}

// awaitEnd waits until another call of Shutdown has ended the node.
func (n *Node) awaitEnd(ctx context.Context) error {
	select {
	case <-n.ended:
		return nil
	default:
	}
	select {
	case <-n.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SurvivorsError names processes that could not be stopped.
type SurvivorsError struct{ Survivors []messages.Survivor }

// Error implements error.
func (e *SurvivorsError) Error() string {
	return fmt.Sprintf("%d processes could not be stopped: %v", len(e.Survivors), e.Survivors)
}

func survivorsError(left []messages.Survivor) error {
	if len(left) == 0 {
		return nil
	}
	return &SurvivorsError{left}
}
