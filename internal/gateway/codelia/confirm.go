package codelia

import (
	"context"
	"errors"

	"troupe/internal/gateway/jsonrpc"
)

// Confirm asks the user of a client about a command, and returns the reason of a refusal. It
// allows the command if the client shows no questions.
type Confirm = func(ctx context.Context, command, cwd string) (ok bool, reason string, err error)

// question holds the parameters of ui.confirm.request.
type question struct {
	Title         string `json:"title"`
	Message       string `json:"message"`
	ConfirmLabel  string `json:"confirm_label"`
	CancelLabel   string `json:"cancel_label"`
	AllowRemember bool   `json:"allow_remember"`
	AllowReason   bool   `json:"allow_reason"`
}

// answer is the result of ui.confirm.request.
type answer struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
}

func (c *connection) confirm(ctx context.Context, command, cwd string) (ok bool, reason string, err error) {
	if !c.asks.Load() {
		return true, "", nil
	}
	var a answer
	err = c.server.Call(ctx, "ui.confirm.request", question{
		Title: "Run this command?", Message: command + "\n\nin " + cwd, ConfirmLabel: "Run", CancelLabel: "Refuse", AllowReason: true,
	}, &a)
	if refused, is := errors.AsType[*jsonrpc.Error](err); is { // a client that cannot ask has not confirmed
		return false, refused.Message, nil
	}
	return a.OK, a.Reason, err
}
