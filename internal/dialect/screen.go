package dialect

import (
	"context"

	"troupe/host"
	"troupe/messages"
)

// ReadScreen returns what the terminal of a job shows, one line for each row, without the
// empty rows at its end.
func ReadScreen(ctx context.Context, h host.Doer, id messages.JobID) (messages.ScreenText, error) {
	s, err := host.Ask(ctx, h, messages.ReadScreen{Job: id})
	for len(s.Lines) > 0 && s.Lines[len(s.Lines)-1] == "" {
		s.Lines = s.Lines[:len(s.Lines)-1]
	}
	return s, err
}
