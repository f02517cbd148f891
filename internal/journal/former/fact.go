package former

import (
	"fmt"

	"troupe/messages"
)

// aboutJobs maps kinds to facts that consist of a job's record.
var aboutJobs = map[uint64]messages.CommandFact{
	1: messages.CommandQueued{}, 2: messages.CommandStarted{}, 3: messages.CommandPromoted{}, 4: messages.CommandStopping{},
	5: messages.CommandDraining{}, 6: messages.CommandFinished{}, 7: messages.CommandRetired{}, 8: messages.CommandChanged{},
	14: messages.CommandNotified{},
}

// Fact reads a fact: its kind in field 1, its content in field 2.
func Fact(b []byte) (messages.Fact, error) {
	f := fields{buf: b}
	var kind uint64
	unsigned(&f, 1, &kind)
	var fact messages.Fact
	switch kind {
	case 9:
		fact = content(&f, sessionOpenedFields)
	case 10:
		fact = content(&f, sessionReplacedFields)
	case 11:
		fact = content(&f, sessionClosedFields)
	case 12:
		fact = content(&f, scopeOpenedFields)
	case 13:
		fact = content(&f, scopeClosedFields)
	default:
		about := aboutJobs[kind]
		if about == nil {
			return nil, fmt.Errorf("%w: unknown kind %d of a fact", errWire, kind)
		}
		fact = about.With(content(&f, jobFields)).(messages.Fact)
	}
	return fact, f.err
}

func content[T any](f *fields, each func(*fields, *T)) (v T) {
	nested(f, 2, &v, each)
	return v
}

func sessionOpenedFields(f *fields, s *messages.SessionOpened) {
	i := &s.Info
	text(f, 1, &i.Scope)
	text(f, 2, &i.Session)
	text(f, 3, &i.Backend)
	integer(f, 4, &i.Parallel)
	integer(f, 5, &i.Running)
	integer(f, 6, &i.Queued)
	integer(f, 7, &i.Adopted)
	text(f, 8, &i.Dir)
	text(f, 9, &i.Shell)
	moment(f, 10, &i.Used)
	text(f, 11, &i.Snapshot)
	text(f, 12, &i.SnapshotError)
}

func sessionReplacedFields(f *fields, s *messages.SessionReplaced) {
	text(f, 1, &s.Scope)
	text(f, 2, &s.Session)
	text(f, 3, &s.Dir)
	text(f, 4, &s.Lost)
}

func sessionClosedFields(f *fields, s *messages.SessionClosed) {
	text(f, 1, &s.Scope)
	text(f, 2, &s.Session)
	text(f, 3, &s.Reason)
	list(f, 4, &s.Survivors, survivorFields)
	text(f, 5, &s.By)
}

func scopeOpenedFields(f *fields, s *messages.ScopeOpened) { text(f, 1, &s.Path) }

func scopeClosedFields(f *fields, s *messages.ScopeClosed) {
	text(f, 1, &s.Path)
	text(f, 2, &s.Reason)
	texts(f, 3, &s.Jobs)
	list(f, 4, &s.Survivors, survivorFields)
}
