package node

import (
	"context"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// encodeKeys returns a request with the bytes of its keys or its paste. On a terminal the
// program's output up to this call decides what some keys send, and the lines of a paste end
// with CR, in brackets if the program has asked for them. A key that the program could not tell
// from another is refused with invalid_params, a key that means nothing to a pipe with
// unsupported.
func (n *Node) encodeKeys(ctx context.Context, r messages.WriteInput) (messages.WriteInput, error) {
	text := r.Keys + r.Paste
	switch {
	case text == "":
		return r, nil
	case len(text) > messages.MaxInput: // before encoding makes it longer
		return r, &messages.Error{Code: messages.TooLarge, Reason: "input", Message: "the input is too large; give at most 256 KiB at once"}
	case len(r.Data) > 0 || r.Keys != "" && r.Paste != "":
		return r, messages.Invalid("data", "give one of data, keys and paste")
	}
	modes, terminal, err := n.keyModes(ctx, r.Job)
	switch {
	case err != nil:
		return r, err
	case r.Keys != "":
		mode := shelltext.Modes(modes)
		mode.Pipe = !terminal
		r.Data, err = shelltext.EncodeKeys(text, mode)
	case terminal:
		r.Data = shelltext.Paste(text, modes.Paste)
	default:
		r.Data = []byte(text)
	}
	return r, err
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
