package journal

import (
	"fmt"

	"troupe/messages"
)

// Stored kinds of facts; numbers are never reused. A new kind raises the Format, so
// that an older troupe refuses the file.
const (
	kindQueued uint64 = iota + 1
	kindStarted
	kindPromoted
	kindStopping
	kindDraining
	kindFinished
	kindRetired
	kindChanged
	kindSessionOpened
	kindSessionReplaced
	kindSessionClosed
	kindScopeOpened
	kindScopeClosed
	kindNotified
)

// aboutJobs maps kinds to facts that consist of a job's record.
var aboutJobs = [...]messages.CommandFact{
	kindQueued: messages.CommandQueued{}, kindStarted: messages.CommandStarted{}, kindPromoted: messages.CommandPromoted{},
	kindStopping: messages.CommandStopping{}, kindDraining: messages.CommandDraining{}, kindFinished: messages.CommandFinished{},
	kindRetired: messages.CommandRetired{}, kindChanged: messages.CommandChanged{}, kindNotified: messages.CommandNotified{},
}

func jobKind(fact messages.CommandFact) uint64 {
	switch fact.(type) {
	case messages.CommandQueued:
		return kindQueued
	case messages.CommandStarted:
		return kindStarted
	case messages.CommandPromoted:
		return kindPromoted
	case messages.CommandStopping:
		return kindStopping
	case messages.CommandDraining:
		return kindDraining
	case messages.CommandFinished:
		return kindFinished
	case messages.CommandRetired:
		return kindRetired
	case messages.CommandChanged:
		return kindChanged
	case messages.CommandNotified:
		return kindNotified
	}
	return 0
}

// encodeFact encodes a fact: its kind in field 1, its content in field 2.
func encodeFact(fact messages.Fact) ([]byte, error) {
	f := &fields{write: true, buf: make([]byte, 0, usualSize)}
	switch v := fact.(type) {
	case messages.CommandFact:
		if kind := jobKind(v); kind != 0 {
			job := v.Record()
			whole(f, kind, &job, jobFields)
		}
	case messages.SessionOpened:
		whole(f, kindSessionOpened, &v, sessionOpenedFields)
	case messages.SessionReplaced:
		whole(f, kindSessionReplaced, &v, sessionReplacedFields)
	case messages.SessionClosed:
		whole(f, kindSessionClosed, &v, sessionClosedFields)
	case messages.ScopeOpened:
		whole(f, kindScopeOpened, &v, scopeOpenedFields)
	case messages.ScopeClosed:
		whole(f, kindScopeClosed, &v, scopeClosedFields)
	}
	if len(f.buf) == 0 {
		return nil, fmt.Errorf("the journal cannot encode a %T", fact)
	}
	return f.buf, nil
}

func whole[T any](f *fields, kind uint64, p *T, each func(*fields, *T)) {
	uvarintField(f, 1, &kind)
	put(f, 2, p, each)
}

// decodeFact decodes the form of encodeFact. An unknown kind is ErrNewer.
func decodeFact(b []byte) (messages.Fact, error) {
	f := fields{buf: b}
	var kind uint64
	uvarintField(&f, 1, &kind)
	if f.err != nil || kind == 0 {
		return nil, errWire
	}
	fact, err := decodeKind(&f, kind)
	if err == nil {
		err = f.end()
	}
	return fact, err
}

func decodeKind(f *fields, kind uint64) (messages.Fact, error) {
	switch kind {
	case kindSessionOpened:
		return body(f, sessionOpenedFields), nil
	case kindSessionReplaced:
		return body(f, sessionReplacedFields), nil
	case kindSessionClosed:
		return body(f, sessionClosedFields), nil
	case kindScopeOpened:
		return body(f, scopeOpenedFields), nil
	case kindScopeClosed:
		return body(f, scopeClosedFields), nil
	}
	if kind >= uint64(len(aboutJobs)) {
		return nil, fmt.Errorf("unknown kind %d of a fact: %w", kind, ErrNewer)
	}
	return aboutJobs[kind].With(body(f, jobFields)).(messages.Fact), nil
}

func body[T any](f *fields, each func(*fields, *T)) T {
	var v T
	if f.next(2, delimited) {
		inside(f, &v, each)
	}
	return v
}
