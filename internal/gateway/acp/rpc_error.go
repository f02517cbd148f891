package acp

import (
	"errors"
	"fmt"

	"troupe/messages"
)

// Codes of JSON-RPC, and the one of this protocol for an unknown session.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotFound       = -32002
)

// rpcError is the error of a request.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

func refusal(code int, message string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(message, args...)}
}

// refusalOf returns the error of a session that cannot be opened.
func refusalOf(err error) *rpcError {
	code := codeInternal
	if e, ok := errors.AsType[*messages.Error](err); ok && (e.Code == messages.InvalidParams || e.Code == messages.CwdNotFound) {
		code = codeInvalidParams
	}
	return &rpcError{Code: code, Message: err.Error()}
}
