package host

import (
	"context"
	"errors"

	"troupe/messages"
)

// ReadFinal reads a view of an output as a terminal shows it in the end. From an older daemon
// it gets the plain text.
func ReadFinal(ctx context.Context, h Doer, r messages.ReadOutput) (messages.OutputPage, error) {
	r.Plain, r.Final = true, true
	page, err := Ask(ctx, h, r)
	if errors.Is(err, &messages.Error{Code: messages.InvalidParams, Reason: "final"}) {
		r.Final = false
		page, err = Ask(ctx, h, r)
	}
	return page, err
}
