package pi

import (
	"context"
	"encoding/json"
	"fmt"

	"troupe/messages"
)

// maxCommands bounds the commands that a client runs at a time. Each takes two connections of
// the daemon.
const maxCommands = 32

// errBusy refuses a command above the bound.
var errBusy = &messages.Error{
	Code: messages.Busy, Reason: "commands", Message: fmt.Sprintf("limit of %d commands at a time reached", maxCommands),
	Hint: "wait for one, or end all with abort_bash",
}

// run starts the command of a bash request. Its answer follows the last event of its output.
func (s *server) run(ctx context.Context, r request) error {
	select {
	case s.places <- struct{}{}:
	default:
		return s.out.send(ctx, failed(r, errBusy))
	}
	if s.abort == nil {
		s.commands, s.abort = context.WithCancel(ctx)
	}
	command := s.commands
	s.running.Go(func() {
		defer func() { <-s.places }()
		result, err := s.session.ExecuteTo(command, r.command, &outputEvents{ctx, s.out, r.id})
		answer := succeeded(r, result)
		if err != nil {
			answer = failed(r, err)
		}
		_ = s.out.send(ctx, answer) // fails only at the end of the client
	})
	return nil
}

// stop ends the commands that run. It does not affect later ones.
func (s *server) stop() {
	if s.abort != nil {
		s.abort()
		s.abort = nil
	}
}

// outputEvents sends each piece of an output as an event.
type outputEvents struct {
	ctx context.Context //nolint:containedctx // of the client, not of the command: what an aborted one has written is sent
	out *lineWriter
	id  json.RawMessage
}

// Write implements io.Writer.
func (o *outputEvents) Write(p []byte) (int, error) {
	if err := o.out.send(o.ctx, outputEvent{Type: typeOutput, ID: o.id, Delta: string(p)}); err != nil {
		return 0, err
	}
	return len(p), nil
}
