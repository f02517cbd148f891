package http

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// insisted is a node that keeps what it is asked, and opens nothing.
type insisted struct {
	Node
	all   *[]any
	while func() // it is asked
}

func (a insisted) Ask(ctx context.Context, r messages.Refusable) (any, error) {
	a.while()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r.Refuse(&messages.Error{Code: messages.Busy}), nil
}

func (a insisted) AskAgain(_ context.Context, request func() messages.Refusable) (any, error) {
	r := request()
	*a.all = append(*a.all, r)
	a.while()
	return messages.ScopeClosed{}, nil
}

// What begins in a scope at the moment in which its client leaves it ends with it, unless
// somebody has leased it again; what comes later is refused, for a while.
func TestStragglers(t *testing.T) {
	var all []any
	var s *Server
	held := func() { require.NotNil(t, s.tenancies["a"].ending, "whoever leases it now waits") }
	s = New(Options{Node: insisted{all: &all, while: held}})
	d := &clientConn{gate: &admission{server: s}, caller: &callerState{}}
	c := &request{Server: s, ctx: context.WithValue(t.Context(), connKey{}, d)}
	began := 0
	begin := func(path messages.ScopePath) error { return c.begin(path, func() error { began++; return nil }) }
	require.NoError(t, begin("a/b"))
	require.NoError(t, c.begin("a/b", func() error { d.noteScopeLeft("a"); return nil }))
	require.Equal(t, []any{messages.ReleaseScope{Path: "a", Reason: "its client has gone"}}, all)
	require.Empty(t, s.tenancies)
	d.noteLeased("a")
	s.tenancies["a"] = &scopeLease{tenants: 1}
	require.NoError(t, c.begin("a/b", func() error { d.noteScopeLeft("a"); return nil }))
	require.Len(t, all, 1)
	require.Equal(t, 1, s.tenancies["a"].tenants)
	for path, refused := range map[messages.ScopePath]bool{"a": true, "a/b/c": true, "ab": false, "main": false, "": false} {
		began = 0
		err := begin(path)
		require.Equal(t, refused, err != nil, path)
		require.Equal(t, refused, began == 0, path)
	}
	s.tenants["of another"] = &leaseHolder{path: "a/b", door: &clientConn{caller: &callerState{}}}
	require.Error(t, begin("a/b/c"))
	s.tenants["below"] = &leaseHolder{path: "a/b", door: d}
	require.NoError(t, begin("a/b/c"), "it has a lease there")
	require.Error(t, begin("a/x"))
	s.tenants["below"].ends = true
	require.Error(t, begin("a/b/c"), "its lease there is just ending")
	d.caller.leftScopes["a"] = time.Now().Add(-stragglersFor - time.Second)
	require.NoError(t, begin("a"))
	d.noteScopeLeft("b")
	require.Len(t, d.caller.leftScopes, 1, "what is over is forgotten")
}

// The clients of a port cannot be told apart: none of them is refused for another.
func TestStragglersOfAPort(t *testing.T) {
	d := &clientConn{gate: &admission{token: true}, caller: &callerState{}}
	d.noteScopeLeft("a")
	_, left := d.leftScope("a")
	require.False(t, left)
}

// A client that goes while it leases may have the scope without knowing it, and leaves it
// then; but not because the server closes, and not one that it was refused.
func TestALeaseThatDoesNotBegin(t *testing.T) {
	for _, c := range []struct{ gone, closing, left bool }{{gone: true, left: true}, {gone: true, closing: true}, {}} {
		var all []any
		ctx, vanish := context.WithCancel(t.Context())
		defer vanish()
		s := New(Options{Node: insisted{all: &all, while: func() {
			if c.gone {
				vanish()
			}
		}}})
		if c.closing {
			s.close()
		}
		d := &clientConn{gate: &admission{server: s}, caller: &callerState{}}
		k := &request{Server: s, ctx: context.WithValue(ctx, connKey{}, d)}
		_, err := k.acquireLease(ctx, messages.OpenScope{Path: "a"})
		require.Error(t, err)
		require.Equal(t, c.left, len(all) == 1)
	}
}
