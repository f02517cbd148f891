package troupe

import (
	"context"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// EncodeKeys gives the bytes of keys (shelltext.EncodeKeys) as they are to be typed at a job now:
// on a terminal its program decides what some keys send, by what it has written up to
// this call. A key that the program could not tell from another is invalid_params, one
// that means nothing to a pipe is unsupported. Nothing is typed: WriteInput does that.
func (n *Node) EncodeKeys(ctx context.Context, id messages.JobID, keys string) ([]byte, error) {
	modes, terminal, err := n.keyModes(ctx, id)
	if err != nil {
		return nil, err
	}
	mode := shelltext.Modes(modes)
	mode.Pipe = !terminal
	return shelltext.EncodeKeys(keys, mode)
}

// EncodePaste gives the bytes of a text as it is to be pasted into a job now: on a terminal its
// lines end with CR, and it is in brackets if the program has asked for that; for a pipe
// it is what it is. Nothing is typed: WriteInput does that.
func (n *Node) EncodePaste(ctx context.Context, id messages.JobID, text string) ([]byte, error) {
	modes, terminal, err := n.keyModes(ctx, id)
	if err != nil || !terminal {
		return []byte(text), err
	}
	return shelltext.Paste(text, modes.Paste), nil
}

// keyModes are those of the terminal of a job, behind all that it had written when it was
// asked for them: one screen may be drawn only in part.
func (n *Node) keyModes(ctx context.Context, id messages.JobID) (modes messages.KeyModes, terminal bool, err error) {
	job, err := n.Job(ctx, id)
	if err != nil || job.Terminal == (messages.Terminal{}) {
		return modes, false, err
	}
	s, err := n.Screen(ctx, id)
	for from, all := int64(-1), s.Bytes; err == nil && s.At < all && s.At > from; { // each goes further, or none does
		from = s.At
		s, err = n.Screen(ctx, id)
	}
	return s.Keys, true, err
}
