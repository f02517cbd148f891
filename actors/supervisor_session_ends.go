package actors

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"troupe/messages"
)

// recentEnds are the last ends of sessions and their shells, the newest first.
type recentEnds []messages.SessionEnd

func (r *recentEnds) add(end messages.SessionEnd) {
	if len(*r) >= messages.MaxRecent {
		*r = (*r)[:messages.MaxRecent-1]
	}
	*r = slices.Insert(*r, 0, end)
}

// of returns the ends at and below a scope.
func (r recentEnds) of(scope messages.ScopePath) []messages.SessionEnd {
	var out []messages.SessionEnd
	for _, end := range r {
		if scope == "" || scope.Contains(end.Scope) {
			out = append(out, end)
		}
	}
	return out
}

// commandUse describes the last command of a shell without its text, which may be long.
type commandUse struct {
	hash   string // of the text, hexadecimal
	length int    // of the text, bytes
	code   *int   // nil: unknown
}

// useOf describes an ended command.
func useOf(job messages.Record) commandUse {
	sum := sha256.Sum256([]byte(job.Command))
	c := commandUse{hash: hex.EncodeToString(sum[:]), length: len(job.Command)}
	if s, known := job.End.Status(); known {
		c.code = new(s.Shell())
	}
	return c
}

// end returns the end of the session with this last command.
func (c commandUse) end(scope messages.ScopePath, session messages.SessionID, backend string, why messages.EndReason) messages.SessionEnd {
	return messages.SessionEnd{
		Scope: scope, Session: session, Backend: backend, Reason: why, At: clock(), ExitCode: c.code, Hash: c.hash, Length: c.length,
	}
}

// endOf returns why a shell ended with a command.
func endOf(job messages.Record) messages.EndReason {
	switch {
	case job.End.Cause.By != messages.ByNone:
		return messages.EndStopped
	case job.End.Shell() == 0:
		return messages.EndCompleted
	}
	return messages.EndError
}
