package out

import (
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"troupe/messages"
)

// JobTable lists jobs. SCOPE stays empty if all jobs are in the main scope, and SESSION for
// the default session; the table omits columns without text.
func JobTable(jobs []messages.Record, now time.Time) *Table {
	t := &Table{Head: []string{"ID", "NAME", "SCOPE", "SESSION", "STATUS", "OUTPUT", "COMMAND"}, Spare: []int{5, 3, 2}, Long: 1} // OUTPUT, SESSION, SCOPE; NAME
	apart := slices.ContainsFunc(jobs, func(j messages.Record) bool { return j.Scope != messages.MainScope })
	for _, j := range jobs {
		scope, session := "", ""
		if apart {
			scope = string(j.Scope)
		}
		if j.Session != messages.DefaultSession {
			session = string(j.Session)
		}
		size := OutputBytes(j)
		output := humanize.IBytes(size)
		switch {
		case len(j.Output) == 0:
			output = "?" // the keeper did not report it
		case size == 0 && j.HasFlag(messages.FlagOutputLost):
			output = "lost"
		}
		t.Add(string(j.ID), j.Name, scope, session, StatusText(j, now), output, j.Command)
	}
	return t
}

// OutputBytes returns the bytes that a job has written to all streams.
func OutputBytes(j messages.Record) uint64 {
	sum := int64(0)
	for _, out := range j.Output {
		sum += out.Bytes
	}
	return uint64(max(sum, 0))
}
