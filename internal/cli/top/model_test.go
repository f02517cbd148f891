package top

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// at is the time of the tests.
var at = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// shows is a model that has got lists of some jobs, and a screen of 80 by 24.
func shows(t *testing.T, jobs ...messages.Record) *model {
	t.Helper()
	m := newModel(&connect.Command{Ctx: t.Context()}, &Flags{Sort: "age"})
	m.now = func() time.Time { return at }
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.Update(listed{lists: lists{jobs: jobs, scopes: []messages.ScopeInfo{{Path: messages.MainScope}}, full: true, at: at}})
	return m
}

// record is a running job.
func record(n int, change func(*messages.Record)) messages.Record {
	id := fmt.Sprintf("j%d", n)
	r := messages.Record{
		ID: messages.JobID(id), UID: messages.UID("u" + id), Scope: messages.MainScope, Session: messages.DefaultSession, Command: "sleep 60",
		State: messages.Running, Background: true, Created: at.Add(time.Duration(n-100) * time.Second), Started: at.Add(-9 * time.Second), Seq: messages.Seq(n),
		Output: []messages.StreamOutput{{}}, Live: &messages.LiveState{Processes: 1, Memory: 1 << 20},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func press(m *model, keys ...string) (last tea.Cmd) {
	for _, key := range keys {
		k := tea.KeyPressMsg{Text: key}
		switch key {
		case "enter":
			k = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "esc":
			k = tea.KeyPressMsg{Code: tea.KeyEscape}
		case "down":
			k = tea.KeyPressMsg{Code: tea.KeyDown}
		case "backspace":
			k = tea.KeyPressMsg{Code: tea.KeyBackspace}
		}
		_, last = m.Update(k)
	}
	return last
}

var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// screen is the text that the model draws.
func screen(m *model) string { return styles.ReplaceAllString(m.View().Content, "") }

func lineOf(t *testing.T, m *model, begin string) string {
	t.Helper()
	for line := range strings.Lines(screen(m)) {
		if strings.HasPrefix(strings.TrimSpace(line), begin) {
			return strings.TrimRight(line, "\n ")
		}
	}
	t.Fatalf("no line begins with %q:\n%s", begin, screen(m))
	return ""
}

// A row has the words of troupe ps, and no line of the screen is wider than the terminal.
func TestTheTableHasTheWordsOfPs(t *testing.T) {
	m := shows(
		t, record(1, func(r *messages.Record) { r.Name, r.WaitingForInput = "web", true }),
		record(2, func(r *messages.Record) { r.State, r.Started, r.Live = messages.Queued, time.Time{}, nil }),
		record(3, func(r *messages.Record) { r.Session, r.Output[0].Bytes = "dev", 2048 }),
	)
	require.Equal(t, " j1       web      9s, waits for input            1.0 MiB      0 B sleep 60", lineOf(t, m, "j1"))
	require.Equal(t, " j2                queued 1m                                   0 B sleep 60", lineOf(t, m, "j2"))
	require.Equal(t, "  j3               running 9s                     1.0 MiB  2.0 KiB sleep 60", lineOf(t, m, "j3"))
	require.Contains(t, lineOf(t, m, "main"), "3 jobs                    0.0  2.0 MiB  2.0 KiB")
	require.Contains(t, lineOf(t, m, "troupe top"), "2 running, 1 waiting for input, 1 queued, CPU 0.0%, 2.0 MiB")
	require.Contains(t, lineOf(t, m, "a attach"), "q quit")
	for _, size := range [][2]int{{80, 24}, {20, 5}, {1, 1}, {40, 14}, {200, 60}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		lines := strings.Split(screen(m), "\n")
		require.LessOrEqual(t, len(lines), size[1], "%v", size)
		for _, line := range lines {
			require.LessOrEqual(t, out.Cells(line), max(size[0], 2), "%v: %q", size, line)
		}
	}
}

// What jobs and clients have written is escaped.
func TestSecurityTheScreenHasNoSequenceOfAJob(t *testing.T) {
	hostile := "\x1b]52;c;AAAA\x07\x9b2J\u202eevil\xff"
	m := shows(t, record(1, func(r *messages.Record) { r.Name, r.Command = hostile, hostile }))
	m.pane.lines = []string{"a\tb" + hostile}
	m.say("", errors.New(hostile))
	m.dirty = true
	text := screen(m)
	require.Contains(t, text, `\x1b]52`)
	require.Contains(t, text, `a       b\x1b]52;c;AAAA\x07`)
	require.NotContains(t, strings.ReplaceAll(text, "\n", ""), "\x1b")
	require.Equal(t, strings.ReplaceAll(text, "\n", ""), out.Clean(strings.ReplaceAll(text, "\n", "")))
}

// The selection stays at its job while rows come and go around it.
func TestTheSelectionStaysAtItsJob(t *testing.T) {
	m := shows(t, record(1, nil), record(2, nil), record(3, nil))
	require.Equal(t, messages.UID("uj1"), m.selected.uid, "the first job, not its scope")
	press(m, "down", "down")
	require.Equal(t, messages.UID("uj3"), m.selected.uid)
	m.Update(eventsCame{records: []messages.Record{record(1, func(r *messages.Record) { r.State, r.Seq = messages.Finished, 9 })}})
	require.Equal(t, messages.UID("uj3"), m.selected.uid)
	require.Len(t, m.rows, 3)
	m.Update(eventsCame{records: []messages.Record{record(3, func(r *messages.Record) { r.State, r.Seq = messages.Finished, 10 })}})
	require.Equal(t, messages.UID("uj2"), m.selected.uid, "the row in its place")
}

// An event that overtook a list stays, and an older one changes nothing.
func TestAListDoesNotUndoAnEvent(t *testing.T) {
	m := shows(t, record(1, nil), record(2, nil))
	ended := record(1, func(r *messages.Record) { r.State, r.Seq = messages.Finished, 8 })
	m.jobs.finished = true
	m.Update(eventsCame{records: []messages.Record{ended, record(7, nil)}})
	m.Update(listed{lists: lists{jobs: []messages.Record{record(1, nil), record(2, nil)}, at: at}})
	require.Equal(t, messages.Finished, m.jobs.all["uj1"].State)
	require.Contains(t, m.jobs.all, messages.UID("uj7"))
	m.Update(eventsCame{records: []messages.Record{record(1, nil)}})
	require.Equal(t, messages.Finished, m.jobs.all["uj1"].State)
	m.Update(listed{lists: lists{jobs: []messages.Record{record(2, func(r *messages.Record) { r.Seq = 20 })}, at: at}})
	require.Contains(t, m.jobs.all, messages.UID("uj1"), "the list has live jobs alone")
	m.Update(listed{lists: lists{jobs: []messages.Record{record(2, func(r *messages.Record) { r.Seq = 20 })}, full: true, at: at}})
	require.Len(t, m.jobs.all, 1, "a list without them is newer")
}

// CPU% is the share of the time between two lists.
func TestTheShareOfAProcessor(t *testing.T) {
	uses := func(cpu time.Duration) messages.Record {
		return record(1, func(r *messages.Record) { r.Live.CPU = cpu })
	}
	m := shows(t, uses(time.Second))
	m.Update(listed{lists: lists{jobs: []messages.Record{uses(2 * time.Second)}, at: at.Add(2 * time.Second)}})
	require.InDelta(t, 50, m.jobs.all["uj1"].share, 0.01)
	require.Contains(t, lineOf(t, m, "j1"), "   50  1.0 MiB")
}

// The filter applies as it is typed; Esc shows all again.
func TestTheFilter(t *testing.T) {
	m := shows(t, record(1, func(r *messages.Record) { r.Name = "web" }), record(2, func(r *messages.Record) { r.Command = "make WEB" }), record(3, nil))
	press(m, "/", "w", "e", "x")
	require.Contains(t, screen(m), "no job matches")
	press(m, "backspace", "b", "enter")
	require.Len(t, m.rows, 3, "their scope, and two jobs")
	press(m, "esc")
	require.Len(t, m.rows, 4)
}

// s and r sort, as a click on a title does.
func TestTheOrder(t *testing.T) {
	m := shows(t, record(1, func(r *messages.Record) { r.Output[0].Bytes = 5 }), record(2, func(r *messages.Record) { r.Live.Memory = 9 << 20 }), record(3, func(r *messages.Record) { r.Output[0].Bytes = 7 }))
	order := func() (ids string) {
		for _, r := range m.rows {
			ids += string(r.job.ID)
		}
		return ids
	}
	press(m, "s", "s")
	require.Equal(t, "memory", m.sort)
	require.Equal(t, "j2j1j3", order())
	press(m, "s")
	require.Equal(t, "j3j1j2", order())
	press(m, "r")
	require.Equal(t, "j2j1j3", order())
	m.Update(tea.MouseClickMsg{X: strings.Index(lineOf(t, m, "ID"), "OUTPUT") + 1, Y: 1, Button: tea.MouseLeft})
	require.Equal(t, "j3j1j2", order())
	m.Update(tea.MouseClickMsg{X: 3, Y: headLines + 2, Button: tea.MouseLeft})
	require.Equal(t, messages.UID("uj2"), m.selected.uid)
	m.Update(tea.MouseClickMsg{X: strings.Index(lineOf(t, m, "a attach"), "? help"), Y: 23, Button: tea.MouseLeft})
	require.Contains(t, screen(m), "quit; the jobs go on")
}

// The jobs of a scope are stopped after y alone.
func TestAScopeIsStoppedAfterAConfirmation(t *testing.T) {
	m := shows(t, record(1, nil))
	m.choose(0)
	require.Equal(t, scopeRow, m.selected.kind)
	require.Nil(t, press(m, "K"))
	require.Contains(t, screen(m), "killing the jobs of scope main and below it: sure? y/n")
	require.Nil(t, press(m, "n"))
	require.NotContains(t, screen(m), "sure?")
	require.NotNil(t, press(m, "x", "y"))
	require.Contains(t, screen(m), "stopping the jobs of scope main and below it …")
	require.Nil(t, press(m, "p"))
	require.Contains(t, screen(m), "this works on a job: select one")
}

// A line for a job that reads without echo is not shown. Keys in it are no commands.
func TestALineForAJob(t *testing.T) {
	m := shows(t, record(1, func(r *messages.Record) { r.WaitingForInput, r.WaitingForSecret = true, true }))
	press(m, "i", "q", "é")
	m.Update(tea.PasteMsg{Content: "x\x1b\n"})
	require.Equal(t, "qéx", m.line.text)
	require.Contains(t, screen(m), "write to j1: *** ")
	require.Equal(t, len("write to j1: ***"), m.View().Cursor.X)
	require.NotNil(t, press(m, "enter"))
	require.Equal(t, tableMode, m.mode)
	m.Update(actionDone{err: &messages.Error{Code: messages.NoInput, Message: "job j1 has no input", Hint: "start it with -i"}})
	require.Contains(t, screen(m), "job j1 has no input (start it with -i)")
}

// A pane that was read for a row that is no longer selected is dropped.
func TestALatePaneIsDropped(t *testing.T) {
	m := shows(t, record(1, nil), record(2, nil))
	late := paneRead{nth: m.pane.nth, lines: []string{"of j1"}}
	press(m, "down")
	m.Update(late)
	require.NotContains(t, screen(m), "of j1")
	m.Update(paneRead{nth: m.pane.nth, lines: []string{"first", "of j2"}, over: true})
	require.Contains(t, screen(m), "\nfirst")
	require.Contains(t, screen(m), "\nof j2")
}

// A daemon that cannot be reached is said, until a list comes again.
func TestAnUnreachableDaemonIsSaid(t *testing.T) {
	m := shows(t, record(1, nil))
	m.Update(listed{err: &messages.Error{Code: messages.ShuttingDown, Message: "the daemon is shutting down"}})
	require.Contains(t, screen(m), "the daemon is shutting down")
	require.Contains(t, screen(m), "j1")
	m.Update(listed{lists: lists{jobs: []messages.Record{record(1, nil)}, at: at}})
	require.NotContains(t, screen(m), "shutting")
}

// Scopes, sessions and jobs are below each other; with a filter only those that lead to a match.
func TestTheTreeOfScopes(t *testing.T) {
	in := func(scope messages.ScopePath, session messages.SessionID) func(*messages.Record) {
		return func(r *messages.Record) { r.Scope, r.Session = scope, session }
	}
	j := jobs{
		scopes:   []messages.ScopeInfo{{Path: "main"}, {Path: "main/ci"}, {Path: "main-x"}},
		sessions: []messages.SessionInfo{{Scope: "main", Session: "default"}, {Scope: "main", Session: "dev"}, {Scope: "main", Session: "idle"}},
	}
	j.replace(lists{jobs: []messages.Record{record(1, in("main", "dev")), record(2, in("main/ci", "default")), record(3, in("main", "default"))}, scopes: j.scopes, sessions: j.sessions, at: at})
	text := func(filter string) (lines []string) {
		for _, r := range j.rowsOf(filter, "age", false, at) {
			lines = append(lines, strings.TrimRight(fit(r.cells(columnsFor(80), at)[idColumn], 20, false), " "))
		}
		return lines
	}
	require.Equal(t, []string{"main", " j3", " dev", "  j1", " idle", " main/ci", "  j2", "main-x"}, text(""))
	require.Equal(t, []string{"main", " dev", "  j1"}, text("j1"))
}

// Events of one job are one record, and too many of them become a list.
func TestEventsAreGathered(t *testing.T) {
	g := newGathered()
	for n := range 3 {
		r := record(1, func(r *messages.Record) { r.Seq = messages.Seq(n) })
		g.addRecord(r)
	}
	<-g.ready
	batch := g.take()
	require.Len(t, batch.records, 1)
	require.Equal(t, messages.Seq(2), batch.records[0].Seq)
	for n := range maxGathered + 1 {
		g.addRecord(record(n, nil))
	}
	batch = g.take()
	require.True(t, batch.list)
	require.Empty(t, batch.records)
}

// Each key of the last line is in the help, and no key has two meanings.
func TestEachKeyHasOneMeaning(t *testing.T) {
	var all []string
	for _, b := range bindings() {
		all = append(all, b.keys...)
		require.NotEmpty(t, b.about)
	}
	sorted := slices.Sorted(slices.Values(all))
	require.Equal(t, sorted, slices.Compact(slices.Clone(sorted)))
}
