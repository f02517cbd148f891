package journal_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"troupe/internal/journal"
	"troupe/messages"
)

// anEnd is the end of a session at some second.
func anEnd(session messages.SessionID, second int, code *int) messages.SessionEnd {
	return messages.SessionEnd{
		Scope: "main/ci", Session: session, Backend: messages.BackendShell, Reason: messages.EndError, At: began.Add(time.Duration(second) * time.Second),
		ExitCode: code, Hash: "ab", Length: 7, Closed: code == nil,
	}
}

// The last ends of sessions are kept, the last one first, each once, whatever else is
// recorded with them, and no more than are told of.
func TestEndsAreKept(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		want := func(want ...messages.SessionEnd) {
			t.Helper()
			got, err := j.Ends()
			must(t, err)
			if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		want()
		none, three := 0, 3
		a, b, c := anEnd("a", 1, nil), anEnd("b", 2, &none), anEnd("a", 3, &three)
		must(t, j.Write(journal.Batch{Ends: []messages.SessionEnd{a}}))
		must(t, j.Write(journal.Batch{Facts: facts(1, 3), Ends: []messages.SessionEnd{b, c}}))
		must(t, j.Write(journal.Batch{Ends: []messages.SessionEnd{b, c}})) // tried again
		want(c, b, a)

		var many []messages.SessionEnd
		for n := range messages.MaxRecent + 5 {
			many = append(many, anEnd(messages.SessionID(fmt.Sprint("s", n)), 10+n, &three))
		}
		must(t, j.Write(journal.Batch{Ends: many}))
		got, err := j.Ends()
		must(t, err)
		if len(got) != messages.MaxRecent || got[0].Session != many[len(many)-1].Session {
			t.Errorf("%d are kept, the first %+v", len(got), got[0])
		}
	})
}

// A file has them when it is opened again, and passes the look at it.
func TestEndsOutliveTheProcess(t *testing.T) {
	path := place(t)
	b, err := journal.OpenBolt(path, journal.BoltOptions{})
	must(t, err)
	end := anEnd("a", 1, nil)
	must(t, b.Write(journal.Batch{Ends: []messages.SessionEnd{end}}))
	must(t, b.Close())
	got, err := bolt(t, path, journal.BoltOptions{}).Ends()
	must(t, err)
	if !reflect.DeepEqual(got, []messages.SessionEnd{end}) {
		t.Errorf("got %+v", got)
	}
}
