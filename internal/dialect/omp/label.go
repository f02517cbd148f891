package omp

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/internal/dialect"
)

// Limits of a job's label, in characters.
const (
	maxLabel = 120
	cutLabel = 117
)

// label returns the command as the label of a job.
func label(command string) string {
	command = strings.ToValidUTF8(command[:min(len(command), (maxLabel+1)*utf8.UTFMax)], "�")
	seen, cut := 0, 0
	for at := range command {
		switch seen {
		case cutLabel:
			cut = at
		case maxLabel:
			return command[:cut] + "..."
		}
		seen++
	}
	return command
}

// newID returns the id of a new job: bg_ and the smallest free number, or the preferred id. A
// taken preferred id gets -2, -3 ….
func newID(preferred string, taken func(string) bool) string {
	if preferred != "" {
		id := preferred
		for n := 2; taken(id); n++ {
			id = preferred + "-" + strconv.Itoa(n)
		}
		return id
	}
	n := 1
	for taken("bg_" + strconv.Itoa(n)) {
		n++
	}
	return "bg_" + strconv.Itoa(n)
}

// startResult returns the result for a job in the background, with its
// output so far.
func startResult(id, label, preview string, t Timeout, notes []string) dialect.Result {
	d := &Details{TimeoutSeconds: t.Effective, TimeoutDisabled: t.Disabled, Async: &Async{State: string(JobRunning), JobID: id, Type: "bash"}}
	if t.Requested != t.Effective {
		asked := t.Requested
		d.RequestedTimeoutSeconds = &asked
	}
	var extra []string
	if clamped := t.Notice(); clamped != "" {
		extra = append(extra, clamped)
	}
	extra = append(extra, notes...)
	text := blocks(strings.TrimRight(preview, " \t\r\n"), strings.Join(extra, "\n"), fmt.Sprintf(textJobStarted, id, label)+"\n"+fmt.Sprintf(textJobHow, id))
	return dialect.Result{Text: text, Details: d}
}
