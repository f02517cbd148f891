package mcp

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// leaser is a host that gives one lease, which stays, and nothing else.
type leaser struct {
	Host
	mu   sync.Mutex
	path messages.ScopePath // of the lease
}

func (l *leaser) Lease(_ context.Context, path messages.ScopePath, _ messages.ScopeQuota) (Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.path = path
	return lasting{}, nil
}

type lasting struct{ Lease }

func (lasting) Broken() <-chan struct{}   { return nil }
func (lasting) End(context.Context) error { return nil }

// node is a host whose jobs the test plays.
type node struct {
	leaser
	jobs  chan []messages.Record // what Jobs answers, one after the other; nothing: none
	asks  chan messages.Record   // a job that waits for input
	facts chan messages.Fact     // what happens
	reads []int                  // the bounds of what Bytes was asked for
	bytes *Bytes                 // what it answers; nil: nothing
}

func newNode() *node {
	return &node{jobs: make(chan []messages.Record, 8), asks: make(chan messages.Record, 8), facts: make(chan messages.Fact, 8)}
}

func (*node) OpenScope(context.Context, messages.ScopePath, messages.ScopeQuota) error { return nil }

func (*node) Leave(context.Context, messages.ScopePath) error { return nil }

func (n *node) Job(_ context.Context, id messages.JobID) (messages.Record, error) {
	return messages.Record{ID: "j1", UID: messages.UID(id), Scope: n.scope(), Output: []messages.StreamOutput{{Stream: messages.Merged}}}, nil
}

// scope is that of the last lease, and of its only client.
func (n *node) scope() messages.ScopePath {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.path
}

func (n *node) Jobs(context.Context, messages.ListJobs) ([]messages.Record, error) {
	select {
	case jobs := <-n.jobs:
		return jobs, nil
	default:
		return nil, nil
	}
}

// Await waits as it is told to.
func (n *node) Await(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	select {
	case job := <-n.asks:
		return messages.WaitEnded{Satisfied: true, Jobs: []messages.Record{job}}, nil
	case <-ctx.Done():
		return messages.WaitEnded{TimedOut: true}, nil
	}
}

func (n *node) Bytes(_ context.Context, _ messages.JobID, _ messages.Stream, from int64, most int, _ bool) (Bytes, error) {
	n.reads = append(n.reads, most)
	if n.bytes != nil {
		return *n.bytes, nil
	}
	return Bytes{Next: from}, nil
}

func (n *node) Events(ctx context.Context, _ messages.Filter, begun func()) iter.Seq2[messages.Fact, error] {
	return func(yield func(messages.Fact, error) bool) {
		begun()
		for {
			select {
			case fact := <-n.facts:
				if !yield(fact, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// entered is a client that has its scope.
func entered(t *testing.T, n *node) *client {
	t.Helper()
	return enteredAt(t, n)
}

func enteredAt(t *testing.T, n Host) *client {
	t.Helper()
	s := New(Options{Host: n, Scope: "mcp"})
	c := s.newClient()
	require.NoError(t, c.enter(t.Context(), func() *sdk.Implementation { return nil }))
	t.Cleanup(func() {
		c.leave()
		s.Close()
	})
	return c
}

// flies is a run of a client, which begins now.
func (c *client) flies(uid messages.UID) (f *activeRun, cancelled context.Context) {
	cancelled, cancel := context.WithCancel(context.Background())
	f = &activeRun{uid: uid, input: true, began: time.Now(), cancel: cancel, known: make(chan struct{}), done: make(chan struct{})}
	close(f.known)
	c.track(uid)
	return f, cancelled
}

// calling is a call of a client.
func (c *client) calling() *call {
	return &call{client: c, req: &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{}}}
}
