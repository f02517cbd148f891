package http

import (
	"fmt"
	"maps"
	"time"

	"troupe/messages"
)

// callerLimits is one client: a process at a unix socket, whoever has the token on TCP.
// The bounds of one are its own, so that no process of the user shuts out another.
// The lock of its gate guards it.
type callerLimits struct {
	open          int // connections
	subscriptions int
	bucket        tokenBucket
	behalfOf      map[string]*tokenBucket          // of whom it asks for
	leftScopes    map[messages.ScopePath]time.Time // whose lease of its own has ended, and when
}

// maxCallers is how many are remembered, beside those with a connection.
const maxCallers = 4096

// caller finds who speaks. Who has left is remembered until his bucket is full
// again, or he would come back to another.
func (g *admission) caller(pid int) *callerLimits {
	who := g.callers[pid]
	if who == nil {
		if len(g.callers) >= maxCallers {
			g.forget(time.Now())
		}
		who = &callerLimits{bucket: tokenBucket{left: requestBurst}}
		g.callers[pid] = who
	}
	return who
}

// forget forgets those who have left and have nothing to wait for; were they too
// many, all who have left.
func (g *admission) forget(now time.Time) {
	for _, all := range []bool{false, true} {
		for pid, who := range g.callers {
			if who.open == 0 && (all || who.bucket.full(now)) {
				delete(g.callers, pid)
			}
		}
		if len(g.callers) < maxCallers {
			return
		}
	}
}

// allowRequest counts a request; an error says that there were too many. A process that serves
// others names whom it asks for, and each of these is a client like any: he could be a
// process of his own.
func (d *clientConn) allowRequest(whom string) *messages.Error {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	if d.clientBucket(whom).take(time.Now()) {
		return nil
	}
	return &messages.Error{
		Code: messages.ResourceExhausted, Reason: "rate",
		Message: fmt.Sprintf("these are more than %d requests a second", requestRate), Hint: "ask again in a second; to hear of what happens, follow the events",
	}
}

// maxServed is for how many a process may ask, and maxWhom how long their names are.
const (
	maxServed = 256
	maxWhom   = 64
)

// clientBucket is the bucket of whom a process asks for: "" is itself.
func (d *clientConn) clientBucket(whom string) *tokenBucket {
	who := d.caller
	if whom == "" || len(whom) > maxWhom || d.gate.token {
		return &who.bucket
	}
	if b := who.behalfOf[whom]; b != nil {
		return b
	}
	if len(who.behalfOf) >= maxServed {
		now := time.Now()
		maps.DeleteFunc(who.behalfOf, func(_ string, b *tokenBucket) bool { return b.full(now) })
	}
	if len(who.behalfOf) >= maxServed {
		return &who.bucket
	}
	if who.behalfOf == nil {
		who.behalfOf = map[string]*tokenBucket{}
	}
	b := &tokenBucket{left: requestBurst}
	who.behalfOf[whom] = b
	return b
}

// addSubscription counts one more subscription of a client.
func (d *clientConn) addSubscription() (leave func(), err error) {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	if d.caller.subscriptions >= maxSubscriptions {
		return nil, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "subscriptions",
			Message: fmt.Sprintf("%d subscriptions are open, which is all a client may have", maxSubscriptions), Hint: "end one first",
		}
	}
	d.caller.subscriptions++
	d.gate.server.subscriptions.Add(1)
	return func() {
		d.gate.mu.Lock()
		defer d.gate.mu.Unlock()
		d.caller.subscriptions--
		d.gate.server.subscriptions.Add(-1)
	}, nil
}

// tokenBucket holds what a client may ask at once, and fills again.
type tokenBucket struct {
	left float64
	at   time.Time // when that was so
}

// take takes one, if there is one.
func (b *tokenBucket) take(now time.Time) bool {
	b.fill(now)
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

func (b *tokenBucket) full(now time.Time) bool {
	b.fill(now)
	return b.left >= requestBurst
}

func (b *tokenBucket) fill(now time.Time) {
	if !b.at.IsZero() {
		b.left = min(requestBurst, b.left+now.Sub(b.at).Seconds()*requestRate)
	}
	b.at = now
}

// slots has a place for each request that is held open, fewer than connections:
// however many wait, who asks what there is, or ends it, finds a connection.
type slots chan struct{}

// roomShare is the part of the connections that nobody can hold.
const roomShare = 8

// hold takes a place until the function that it returns is called.
func (r slots) hold() (leave func(), err *messages.Error) {
	select {
	case r <- struct{}{}:
		return func() { <-r }, nil
	default:
	}
	return nil, &messages.Error{
		Code: messages.ResourceExhausted, Reason: "connections",
		Message: fmt.Sprintf("%d runs, waits and streams are open, which is all that may be", cap(r)), Hint: "end some, then try again",
	}
}
