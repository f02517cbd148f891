package out

import (
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"troupe/messages"
)

// JobTable lists jobs, then tasks. SCOPE stays empty if all are in the main scope, SESSION for
// the default session, and KIND without tasks; the table omits columns without text, as those of
// live states are if none is known.
func JobTable(jobs []messages.Record, tasks []messages.Task, now time.Time) *Table {
	t := &Table{
		Head:  []string{"ID", "KIND", "NAME", "SCOPE", "SESSION", "STATUS", "OUTPUT", "PROCS", "CPU", "MEMORY", "PORTS", "COMMAND"},
		Spare: []int{7, 8, 9, 6, 10, 4, 3}, // PROCS, CPU, MEMORY, OUTPUT, PORTS, SESSION, SCOPE
		Long:  2,                           // NAME
	}
	apart := slices.ContainsFunc(jobs, func(j messages.Record) bool { return j.Scope != messages.MainScope }) ||
		slices.ContainsFunc(tasks, func(task messages.Task) bool { return task.Scope != messages.MainScope })
	kind := ""
	if len(tasks) > 0 {
		kind = "job"
	}
	for _, j := range jobs {
		scope, session := "", ""
		if apart {
			scope = string(j.Scope)
		}
		if j.Session != messages.DefaultSession {
			session = string(j.Session)
		}
		processes, cpu, memory, ports := liveCells(j.Live)
		t.Add(string(j.ID), kind, j.Name, scope, session, StatusText(j, now), OutputText(j), processes, cpu, memory, ports, j.Command)
	}
	for _, task := range tasks {
		scope := ""
		if apart {
			scope = string(task.Scope)
		}
		t.Add(string(task.ID), task.Kind, "", scope, "", TaskText(task, now), "", "", "", "", "", task.Description)
	}
	return t
}

// OutputText returns the size of a job's output, or why it is not known.
func OutputText(j messages.Record) string {
	size := OutputBytes(j)
	switch {
	case len(j.Output) == 0:
		return "?" // the keeper did not report it
	case size == 0 && j.HasFlag(messages.FlagOutputLost):
		return "lost"
	}
	return humanize.IBytes(size)
}

// OutputBytes returns the bytes that a job has written to all streams.
func OutputBytes(j messages.Record) uint64 {
	sum := int64(0)
	for _, out := range j.Output {
		sum += out.Bytes
	}
	return uint64(max(sum, 0))
}
