// Package journal keeps the numbered facts of a node: what happened to its
// jobs, sessions and scopes, in order. Notification channels read from it what
// they no longer hold, and a subscriber that comes back resumes by its numbers.
//
// A journal is written by one recorder and read by many. It may forget the
// oldest facts, never one in the middle: who reads behind its beginning sees by
// the first number that something is missing, and says so.
package journal

import (
	"errors"
	"fmt"

	"troupe/messages"
)

// Store is a journal. It is safe for concurrent use.
type Store interface {
	// First is the number of the oldest fact that is held, 0 if there is none.
	First() (messages.Seq, error)

	// Last is the number of the newest fact, 0 if there never was one.
	Last() (messages.Seq, error)

	// Append records facts under their numbers, all or none. They follow one
	// another and the last one without a hole (ErrHole); those that are recorded
	// already are left as they are, so that it can be tried again.
	Append(facts []messages.FactRecorded) error

	// Read gives at most limit facts above after, oldest first; none when there
	// are none yet. A first number above after+1 says that those before it are no
	// longer held.
	Read(after messages.Seq, limit int) ([]messages.FactRecorded, error)

	// Close ends the journal; every call after it is ErrClosed.
	Close() error
}

// The errors a caller may test for.
var (
	ErrClosed = errors.New("the journal is closed")
	ErrHole   = errors.New("a fact is missing before this one")
	ErrNoJob  = errors.New("the journal has no such job")
)

// What may be wrong with a journal's file; test with errors.Is. The error that
// is given names the file, what is wrong with it and what to do. The file is left
// as it is.
var (
	ErrDamaged = &messages.Error{Code: messages.Refused, Reason: "journal_damaged", Message: "the journal is damaged"}
	ErrForeign = &messages.Error{Code: messages.Refused, Reason: "journal_foreign", Message: "the file is no journal of troupe"}
	ErrNewer   = &messages.Error{Code: messages.Refused, Reason: "journal_newer", Message: "the journal was written by a newer troupe"}
	ErrUnsafe  = &messages.Error{Code: messages.Refused, Reason: "journal_unsafe", Message: "the journal could be changed by others"}
	ErrInUse   = &messages.Error{Code: messages.Busy, Reason: "journal_in_use", Message: "another process has the journal open"}
)

// fresh is the part of facts that comes after last, or ErrHole.
func fresh(facts []messages.FactRecorded, last messages.Seq) ([]messages.FactRecorded, error) {
	for len(facts) > 0 && facts[0].Seq <= last {
		facts = facts[1:]
	}
	for i, f := range facts {
		if want := last + 1 + messages.Seq(i); f.Seq != want {
			return nil, fmt.Errorf("fact %d where %d is due: %w", f.Seq, want, ErrHole)
		}
	}
	return facts, nil
}
