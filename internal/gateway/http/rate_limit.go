package http

import (
	"fmt"
	"maps"
	"time"

	"troupe/messages"
)

// Bounds of one client's requests.
const (
	requestRate  = 100 // a second
	requestBurst = 500 // at once
)

// callerLimits counts one client: a process on a unix socket, or all clients of TCP.
// Each client has limits of its own, so that no process blocks the others. The lock of
// its admission guards it.
type callerLimits struct {
	open          int // connections
	subscriptions int
	bucket        tokenBucket
	behalfOf      map[string]*tokenBucket          // by the name of a served client
	leftScopes    map[messages.ScopePath]time.Time // scopes whose lease has ended, and when
}

// maxCallers bounds the remembered clients without a connection.
const maxCallers = 4096

// caller returns the limits of a process. Those of a disconnected process stay until
// its bucket is full: a new connection must not refill it.
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

// forget removes disconnected clients with a full bucket or, if there are still too
// many, all disconnected ones.
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

// allowRequest counts a request and returns an error above the limit. A process that
// serves others names its client, which then has a bucket of its own.
func (d *clientConn) allowRequest(whom string) *messages.Error {
	d.gate.mu.Lock()
	defer d.gate.mu.Unlock()
	if d.clientBucket(whom).take(time.Now()) {
		return nil
	}
	return &messages.Error{
		Code: messages.ResourceExhausted, Reason: "rate",
		Message: fmt.Sprintf("more than %d requests in a second", requestRate), Hint: "retry in a second; to observe jobs, follow the events",
	}
}

// maxServed bounds the clients that one process serves, maxWhom the length of their
// names in bytes.
const (
	maxServed = 256
	maxWhom   = 64
)

// clientBucket returns the bucket of a served client; "" is the process itself.
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
			Message: fmt.Sprintf("limit of %d subscriptions reached", maxSubscriptions), Hint: "end one first",
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

// tokenBucket limits the requests of a client. It refills over time.
type tokenBucket struct {
	left float64
	at   time.Time // when left was computed
}

// take takes one token and reports whether there was one.
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

// slots has a place for each long request, fewer than there are connections. Short
// requests, such as a stop, so always find a connection.
type slots chan struct{}

// roomShare divides the connections: one part stays free of long requests.
const roomShare = 8

// hold takes a place until its caller calls leave.
func (r slots) hold() (leave func(), err *messages.Error) {
	select {
	case r <- struct{}{}:
		return func() { <-r }, nil
	default:
	}
	return nil, &messages.Error{
		Code: messages.ResourceExhausted, Reason: "connections",
		Message: fmt.Sprintf("limit of %d open runs, waits and streams reached", cap(r)), Hint: "end some, then try again",
	}
}
