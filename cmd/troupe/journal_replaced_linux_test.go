package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/messages"
)

// A daemon goes on with another journal, whose numbers have passed those of its readers: it was
// removed, or is an older backup. Both a reader that waits and one that has stored its cursor are
// told, and get all that the journal has.
func TestFaultTheJournalIsReplaced(t *testing.T) {
	t.Parallel()
	for name, replaced := range map[string]func(t *testing.T, journal, backup string){
		"removed":  func(t *testing.T, journal, _ string) { require.NoError(t, os.Remove(journal)) },
		"restored": func(t *testing.T, journal, backup string) { require.NoError(t, os.Rename(backup, journal)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := begins(t)
			journal, backup := m.state+"/journal.db", m.state+"/backup"
			m.runsToEnd(1)
			m.killed()
			copied(t, journal, backup)
			m.again()
			m.runsToEnd(2)
			before := m.readsEnds(t)
			require.Len(t, before, 3)
			require.Empty(t, m.readsEnds(t))
			last := before[len(before)-1]
			waits := m.beside("events", "-f", "--ends", "--json", "--cursor", "waits").start()
			for range before {
				line, err := waits.out.ReadString('\n')
				require.NoError(t, err, line)
			}

			m.killed()
			replaced(t, journal, backup)
			m.again()
			m.runsToEnd(9)
			after := m.readsEnds(t)
			require.Equal(t, api.FactsDropped, after[0].Kind)
			require.Equal(t, last.Seq+1, after[0].From)
			require.Zero(t, after[0].Seq)
			require.Less(t, after[1].Seq, last.Seq)
			require.Greater(t, after[len(after)-1].Seq, last.Seq, "the numbers have passed the cursor")
			for _, want := range after {
				line, err := waits.out.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, want.Seq, eventOf(t, line).Seq)
			}
			require.Empty(t, m.readsEnds(t))
			require.NoError(t, os.WriteFile(m.file("seen"), fmt.Appendln(nil, last.Seq), 0o600)) // of an older reader
			for _, e := range m.readsEnds(t) {
				require.Greater(t, e.Seq, last.Seq)
			}
		})
	}
}

// runsToEnd runs so many jobs to their ends, whose facts are recorded then.
func (m *mortal) runsToEnd(n int) {
	m.t.Helper()
	for range n {
		m.awaitEnd(messages.JobID(m.run(messages.RunCommand{Program: messages.Program{Text: "true"}}).UID))
	}
}

// readsEnds returns the ends after those that were read before.
func (m *mortal) readsEnds(t *testing.T) (all []api.Event) {
	t.Helper()
	p := m.beside("events", "--ends", "--json", "--cursor", "seen").start()
	for line := range strings.Lines(p.rest()) {
		all = append(all, eventOf(t, line))
	}
	p.ends(0)
	return all
}

func eventOf(t *testing.T, line string) (e api.Event) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(line), &e), line)
	return e
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, 0o600))
}
