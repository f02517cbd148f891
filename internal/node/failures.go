package node

import (
	"strings"

	"github.com/asynkron/protoactor-go/actor"
)

// CountFailures returns a Middleware that calls failed for each message at which an actor
// panicked. kind is the kind of the actor: "command", "sink". failed runs in the actor's
// goroutine and must not block.
func CountFailures(failed func(kind string)) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(ctx actor.ReceiverContext, message *actor.MessageEnvelope) {
			done := false
			defer func() {
				if !done {
					failed(kindOf(ctx.Self()))
				}
			}()
			next(ctx, message)
			done = true
		}
	}
}

// kindOf returns the kind in the name of a PID: "supervisor/scope-main" → "scope".
func kindOf(pid *actor.PID) string {
	name := pid.Id[strings.LastIndexByte(pid.Id, '/')+1:]
	kind, _, _ := strings.Cut(name, "-")
	return kind
}
