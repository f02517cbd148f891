package api

import (
	"net/http"
	"sync"

	"troupe/messages"
)

// statuses are the HTTP statuses of the codes.
var statuses = sync.OnceValue(func() map[messages.Code]int {
	return map[messages.Code]int{
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
})

// finer are the statuses of reasons that HTTP has its own status for.
var finer = sync.OnceValue(func() map[messages.Error]int {
	return map[messages.Error]int{
		{Code: messages.Refused, Reason: "token"}:              http.StatusUnauthorized,
		{Code: messages.Unsupported, Reason: "method"}:         http.StatusMethodNotAllowed,
		{Code: messages.InvalidParams, Reason: "content_type"}: http.StatusUnsupportedMediaType,
		{Code: messages.InvalidParams, Reason: "upgrade"}:      http.StatusUpgradeRequired,
		{Code: messages.ResourceExhausted, Reason: "rate"}:     http.StatusTooManyRequests,
	}
})

// Status returns the HTTP status of an error.
func Status(e *messages.Error) int {
	if status, ok := finer()[messages.Error{Code: e.Code, Reason: e.Reason}]; ok {
		return status
	}
	if status, ok := statuses()[e.Code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// Refusal returns the error in the body of a reply, or nil if it is not that of a daemon.
func Refusal(body []byte) *messages.Error {
	var refused ErrorBody
	if messages.UnmarshalReply(body, &refused) != nil || refused.Error.Code == "" {
		return nil
	}
	return &refused.Error
}
