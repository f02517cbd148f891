package out

import (
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"troupe/messages"
)

// JobTable lists jobs. SCOPE stays empty if all jobs are in the main scope, and SESSION for
// the default session; the table omits columns without text, as those of live states are if
// none is known.
func JobTable(jobs []messages.Record, now time.Time) *Table {
	t := &Table{
		Head:  []string{"ID", "NAME", "SCOPE", "SESSION", "STATUS", "OUTPUT", "PROCS", "CPU", "MEMORY", "PORTS", "COMMAND"},
		Spare: []int{6, 7, 8, 5, 9, 3, 2}, // PROCS, CPU, MEMORY, OUTPUT, PORTS, SESSION, SCOPE
		Long:  1,                          // NAME
	}
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
		processes, cpu, memory, ports := liveCells(j.Live)
		t.Add(string(j.ID), j.Name, scope, session, StatusText(j, now), output, processes, cpu, memory, ports, j.Command)
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
