package journal

import (
	"errors"
	"fmt"

	"troupe/messages"
)

// Store is a journal. It is safe for concurrent use.
type Store interface {
	// Last returns the number of the newest fact, 0 if there never was one.
	Last() (messages.Seq, error)

	// Append records facts under their numbers, all or none. The numbers must be
	// consecutive and follow the last fact (ErrHole). Recorded facts stay unchanged, so
	// that a call can be repeated.
	Append(facts []messages.FactRecorded) error

	// Read returns up to limit facts above after, oldest first. A first number above
	// after+1 means that earlier facts were removed.
	Read(after messages.Seq, limit int) ([]messages.FactRecorded, error)

	// Close closes the journal. Later calls return ErrClosed.
	Close() error
}

// Errors that a caller may test for.
var (
	ErrClosed = errors.New("the journal is closed")
	ErrHole   = errors.New("a preceding fact is missing")
)

// Errors of a journal's file, for errors.Is. The returned error names the file, the
// problem and what to do. The file stays unchanged.
var (
	ErrDamaged = &messages.Error{Code: messages.Refused, Reason: "journal_damaged", Message: "the journal is damaged"}
	ErrForeign = &messages.Error{Code: messages.Refused, Reason: "journal_foreign", Message: "the file is not a journal of troupe"}
	ErrNewer   = &messages.Error{Code: messages.Refused, Reason: "journal_newer", Message: "the journal was written by a newer troupe"}
	ErrUnsafe  = &messages.Error{Code: messages.Refused, Reason: "journal_unsafe", Message: "other users could change the journal"}
	ErrInUse   = &messages.Error{Code: messages.Busy, Reason: "journal_in_use", Message: "another process has the journal open"}
)

// fresh returns the facts after last, or ErrHole.
func fresh(facts []messages.FactRecorded, last messages.Seq) ([]messages.FactRecorded, error) {
	for len(facts) > 0 && facts[0].Seq <= last {
		facts = facts[1:]
	}
	for i, f := range facts {
		if want := last + 1 + messages.Seq(i); f.Seq != want {
			return nil, fmt.Errorf("fact %d instead of %d: %w", f.Seq, want, ErrHole)
		}
	}
	return facts, nil
}
