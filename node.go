// Package troupe supervises shell jobs. A Node is a tree of actors around the
// processes it runs: every session, command, output and subscriber is one, and
// a supervisor handles timeouts, promotion to the background, cancellation and
// notices by message passing.
//
//	node, err := troupe.Open(ctx, troupe.Options{})
//	job, err := node.Run(ctx, messages.RunCommand{Text: "make test", Timeout: time.Minute})
//	fmt.Println(job.Outcome, job.Shell)
//	err = node.Shutdown(ctx, messages.ShutDown{})
//
// What it promises: a job has exactly one outcome, decided by the exit of its
// main process and never by the end of its output; all that the process wrote
// is in its log before the outcome is told; a stop ends the whole tree of
// processes or names what is left; an actor that fails loses no job.
//
// What an embedded node cannot promise: it runs its jobs as its own children,
// so the death of the host process is the death of its jobs. The next node with
// the same Options.Dir ends what is left of them, if they had cgroups or the
// process was the node's own. Without a writable cgroup a library host reaches
// only the process groups of a job, and says so (the flag tree_unverified);
// processes that outlive the host are then not found again. A host that waits for all
// its children, or ignores SIGCHLD, takes the exit status of a job: before Linux 6.15,
// which tells it again, that job is exited with 255, and has the flag keeper_fault.
//
// A job has none of the descriptors that the host has inherited. The host keeps them as
// they are, but for those from 1024 on, or near its limit and above: they become
// close-on-exec.
package troupe

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

// Node is the one door to the tree. Its methods are safe for concurrent use.
type Node struct {
	system     *actor.ActorSystem
	supervisor *actor.PID
	replies    sync.Map // *pendingReply by the id of its PID
	logs       actors.Logs
	parts      components

	gone   chan struct{} // closed when no actor is left
	over   chan struct{} // closed when nobody answers any more
	ended  chan struct{} // closed when all is taken apart
	once   sync.Once     // closes over
	ending sync.Once     // picks who takes all apart

	leaving atomic.Bool // Shutdown was asked for

	mu     sync.Mutex
	failed error
}

// ErrClosed is returned for what is asked of a node that was shut down. While it is being
// shut down, requests are refused with the code shutting_down.
var ErrClosed = errors.New("the node is closed")

// Open starts a node. It returns when the node takes requests; ctx bounds only
// the opening. Shutdown ends it.
func Open(ctx context.Context, o Options) (*Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := o.build()
	if err != nil {
		return nil, err
	}
	if o.OwnProcess {
		heap.Tune(heap.Floor)
		threads.Reserve()
	}
	if p.past, err = o.before(ctx, p); err != nil {
		return nil, errors.Join(err, survivorsError(p.stop(p.canKeep())), p.close())
	}
	n := &Node{logs: p.logs, parts: p, over: make(chan struct{}), gone: make(chan struct{}), ended: make(chan struct{})}
	n.system = newSystem(o)
	n.system.ProcessRegistry.RegisterAddressResolver(n.findReply)
	n.supervisor, err = actors.Spawn(n.system, o.deps(p, n))
	if err != nil {
		return nil, errors.Join(err, survivorsError(p.stop(p.canKeep())), p.close())
	}
	if err := n.opened(ctx); err != nil { // the jobs of before are not ours to end: we never had them
		return nil, errors.Join(err, n.Shutdown(ctx, messages.ShutdownNode{KeepJobs: p.canKeep(), Reason: "it could not be opened"}))
	}
	return n, nil
}

// opened waits until the node has read its journal: from then on what one
// caller asks is taken in the order in which it was asked.
func (n *Node) opened(ctx context.Context) error {
	reply, err := n.Ask(ctx, messages.ListScopes{})
	if err != nil {
		return err
	}
	return messages.Refusal(reply)
}

// fail ends the node because its supervisor did.
func (n *Node) fail(err error) {
	n.mu.Lock()
	if n.failed == nil {
		n.failed = err
	}
	n.mu.Unlock()
	n.once.Do(func() { close(n.over) })
}

// Failed is closed when the node answers no more: it was shut down, or its
// supervisor failed, which Err tells apart.
func (n *Node) Failed() <-chan struct{} { return n.over }

// Err is why the node answers no more, or nil while it does.
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

// Shutdown ends the node in order: no new work, every job stopped (its own
// grace, or r.Grace), every reply and notice given. It returns what could not
// be ended, as an error that names the processes. When ctx ends first, what is
// left is killed at once, and jobs may be without an outcome. A Journal that hangs
// delays the return by one second behind the end of ctx, and by some twenty where ctx has
// no end: both are errors. A Subscription that is not closed and has facts unread delays
// it by two. It is safe to call again: no call
// returns nil before the node has ended. If the engine lives in this process, what was
// to survive its session (KeepChildren) is ended, too, and KeepJobs is refused with the
// code unsupported: the node goes on.
func (n *Node) Shutdown(ctx context.Context, r messages.ShutdownNode) error {
	if r.KeepJobs && !n.parts.canKeep() {
		return &messages.Error{
			Code: messages.Unsupported, Reason: "keep_jobs", Message: "jobs of this node cannot outlive it: they live in its process",
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

// How long actors may take to end: at all, and behind the end of a ctx. They wait
// for nothing and need only their turn, unless code that was given to them hangs; of
// thousands on a busy machine the last has it after seconds.
const (
	anyTurn  = 10 * time.Second
	lastTurn = time.Second
)

// awaitActors waits until no actor is left, or until they had their turn.
func (n *Node) awaitActors(ctx context.Context) error {
	late := time.NewTimer(anyTurn)
	defer late.Stop()
	select {
	case <-n.gone:
		return nil
	case <-late.C:
		return &messages.Error{
			Code: messages.Internal, Reason: "hangs", Message: "the node's actors have not ended: something that was given to the node hangs",
			Hint: "look at its Journal, Webhooks and Middleware",
		}
	case <-ctx.Done():
		late.Reset(lastTurn)
	}
	select {
	case <-n.gone:
		return nil
	case <-late.C:
		return fmt.Errorf("the node's actors have not ended: %w", ctx.Err())
	}
}

// awaitEnd waits for the end that another call is at.
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

// SurvivorsError names processes that could not be ended.
type SurvivorsError struct{ Survivors []messages.Survivor }

// Error implements error.
func (e *SurvivorsError) Error() string {
	return fmt.Sprintf("%d processes could not be ended: %v", len(e.Survivors), e.Survivors)
}

func survivorsError(left []messages.Survivor) error {
	if len(left) == 0 {
		return nil
	}
	return &SurvivorsError{left}
}
