package http

import (
	"context"
	"errors"
	"fmt"

	"troupe/messages"
)

// coded returns the coded error in err. An error without a code means that the node or
// the server has ended, or a bug.
func (s *Server) coded(err error) *messages.Error {
	var e *messages.Error
	switch {
	case errors.As(err, &e):
		return e
	case s.node.Err() != nil:
		return &messages.Error{Code: messages.ShuttingDown, Message: "the node has ended: " + s.node.Err().Error(), Hint: "retry with the next daemon"}
	case s.closing.Err() != nil:
		return &messages.Error{Code: messages.ShuttingDown, Message: "the server is closing", Hint: "retry with the next daemon"}
	case errors.Is(err, context.DeadlineExceeded):
		return &messages.Error{Code: messages.Busy, Message: "the request timed out", Hint: "retry"}
	}
	return &messages.Error{Code: messages.Internal, Message: err.Error()}
}

// unexpectedReply returns the error in a reply, or reports that the reply does not
// match its request.
func unexpectedReply(reply any) error {
	if err := messages.Refusal(reply); err != nil {
		return err
	}
	return &messages.Error{Code: messages.Internal, Reason: "reply", Message: fmt.Sprintf("unexpected reply %T of the node", reply)}
}
