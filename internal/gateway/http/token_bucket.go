package http

import (
	"fmt"
	"time"

	"troupe/messages"
)

// The defaults of Limits.
const (
	DefaultConnections     = 1024
	DefaultPortConnections = 64
	DefaultPortRequests    = 100
)

// burstSeconds is the time for which the requests of a bucket can come at once.
const burstSeconds = 5

// allowRequest counts a request over TCP and returns an error above the limit. The owner
// meets none on a unix socket: there each request waits for its reply, and connections
// are bounded.
func (d *clientConn) allowRequest() *messages.Error {
	g := d.gate
	if !g.token {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bucket.take(time.Now()) {
		return nil
	}
	return &messages.Error{
		Code: messages.ResourceExhausted, Reason: "rate",
		Message: fmt.Sprintf("limit of %d requests a second over TCP reached", g.bucket.rate), Hint: "retry in a second, or set limits.http_requests higher; to observe jobs, follow the events",
	}
}

// tokenBucket limits requests. It refills over time.
type tokenBucket struct {
	rate int // a second
	left float64
	at   time.Time // when left was computed
}

func newBucket(rate int) tokenBucket {
	return tokenBucket{rate: rate, left: float64(burstSeconds * rate)}
}

// take takes one token and reports whether there was one.
func (b *tokenBucket) take(now time.Time) bool {
	if !b.at.IsZero() {
		b.left = min(float64(burstSeconds*b.rate), b.left+now.Sub(b.at).Seconds()*float64(b.rate))
	}
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// slotShare divides the connections: one part stays free of long requests, so that a
// short one, such as a stop, always finds a connection.
const slotShare = 8

// holdSlot takes a slot for a long request until its caller calls leave.
func (g *admission) holdSlot() (leave func(), err *messages.Error) {
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots }, nil
	default:
	}
	return nil, g.places.full(cap(g.slots), "open runs, waits and streams")
}
