package node

import (
	"context"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// EncodeKeys returns the bytes that keys (docs/commands.md) send to a job now. On a
// terminal the program's output up to this call decides what some keys send. A key that the
// program could not tell from another is refused with invalid_params, a key that means
// nothing to a pipe with unsupported. Nothing is written: use WriteInput.
func (n *Node) EncodeKeys(ctx context.Context, id messages.JobID, keys string) ([]byte, error) {
	modes, terminal, err := n.keyModes(ctx, id)
	if err != nil {
		return nil, err
	}
	mode := shelltext.Modes(modes)
	mode.Pipe = !terminal
	return shelltext.EncodeKeys(keys, mode)
}

// EncodePaste returns the bytes that paste a text into a job now. On a terminal its lines
// end with CR, and stand in brackets if the program has asked for that. For a pipe the text
// stays as it is. Nothing is written: use WriteInput.
func (n *Node) EncodePaste(ctx context.Context, id messages.JobID, text string) ([]byte, error) {
	modes, terminal, err := n.keyModes(ctx, id)
	if err != nil || !terminal {
		return []byte(text), err
	}
	return shelltext.Paste(text, modes.Paste), nil
}

// keyModes returns the key modes of a job's terminal after all output that the job had
// written at the call. A single screen may cover only a part of it.
func (n *Node) keyModes(ctx context.Context, id messages.JobID) (modes messages.KeyModes, terminal bool, err error) {
	job, err := n.Job(ctx, id)
	if err != nil || job.Terminal == (messages.Terminal{}) {
		return modes, false, err
	}
	s, err := n.Screen(ctx, id)
	for from, all := int64(-1), s.Bytes; err == nil && s.At < all && s.At > from; { // each call draws more, or none does
		from = s.At
		s, err = n.Screen(ctx, id)
	}
	return s.Keys, true, err
}
