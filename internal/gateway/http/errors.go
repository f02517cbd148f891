package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"troupe/messages"
)

// statuses are the HTTP statuses of the codes.
var statuses = map[messages.Code]int{
	messages.NotFound:           http.StatusNotFound,
	messages.Busy:               http.StatusServiceUnavailable,
	messages.QueueFull:          http.StatusTooManyRequests,
	messages.InvalidParams:      http.StatusBadRequest,
	messages.CwdNotFound:        http.StatusUnprocessableEntity,
	messages.CwdNotDir:          http.StatusUnprocessableEntity,
	messages.EnvRefused:         http.StatusUnprocessableEntity,
	messages.TooLarge:           http.StatusRequestEntityTooLarge,
	messages.JobFinished:        http.StatusConflict,
	messages.NoInput:            http.StatusConflict,
	messages.LineTooLong:        http.StatusUnprocessableEntity,
	messages.SessionClosedCode:  http.StatusConflict,
	messages.ResourceExhausted:  http.StatusServiceUnavailable,
	messages.SpawnFailed:        http.StatusUnprocessableEntity,
	messages.SandboxUnavailable: http.StatusNotImplemented,
	messages.Refused:            http.StatusForbidden,
	messages.Conflict:           http.StatusConflict,
	messages.OutputUnavailable:  http.StatusNotFound,
	messages.ShuttingDown:       http.StatusServiceUnavailable,
	messages.Unsupported:        http.StatusNotImplemented,
	messages.KeeperUnresponsive: http.StatusServiceUnavailable,
	messages.Internal:           http.StatusInternalServerError,
	messages.ShellUnknown:       http.StatusNotFound,
	messages.ShellCompleted:     http.StatusConflict,
	messages.ShellErrorShutdown: http.StatusServiceUnavailable,
	messages.ShellStopped:       http.StatusConflict,
	messages.ShellNotFound:      http.StatusNotFound,
}

// finer are the statuses of reasons that HTTP has its own status for.
var finer = map[messages.Error]int{
	{Code: messages.Refused, Reason: "token"}:              http.StatusUnauthorized,
	{Code: messages.Unsupported, Reason: "method"}:         http.StatusMethodNotAllowed,
	{Code: messages.InvalidParams, Reason: "content_type"}: http.StatusUnsupportedMediaType,
	{Code: messages.InvalidParams, Reason: "upgrade"}:      http.StatusUpgradeRequired,
	{Code: messages.ResourceExhausted, Reason: "rate"}:     http.StatusTooManyRequests,
}

// statusOf returns the HTTP status of an error.
func statusOf(e *messages.Error) int {
	if status, ok := finer[messages.Error{Code: e.Code, Reason: e.Reason}]; ok {
		return status
	}
	if status, ok := statuses[e.Code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

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
