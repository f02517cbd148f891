package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/messages"
)

// asksAtA asks its terminal where the cursor is when an a is typed, and counts the
// answers.
const asksAtA = `stty raw -echo; n=0; printf 'ready\033[2;1H'
while read -rsn1 k; do case $k in
	a) printf '\033[6n';;
	R) n=$((n+1)); printf 'answers:%d\033[2;1H' $n;;
	q) printf '\033[5;1Hover'; exit 3;;
esac; done`

// shows is the screen that the command line prints.
func (m *mortal) shows(id messages.JobID) messages.ScreenText {
	m.t.Helper()
	p := m.beside("screen", "--json", string(id)).start()
	var s messages.ScreenText
	require.NoError(m.t, json.Unmarshal([]byte(p.rest()), &s))
	p.ends(0)
	return s
}

func (m *mortal) types(id messages.JobID, keys string) {
	m.t.Helper()
	_, err := host.Ask(m.t.Context(), m.client.Host(), messages.WriteInput{Job: id, Data: []byte(keys)})
	require.NoError(m.t, err)
}

func (m *mortal) prints(id messages.JobID, pattern string) {
	m.t.Helper()
	end, err := host.Ask(m.t.Context(), m.client.Host(), messages.WaitJobs{
		Jobs: []messages.JobID{id}, Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: pattern}, Timeout: tooLong,
	})
	require.NoError(m.t, err)
	require.True(m.t, end.Satisfied, "%s was not printed", pattern)
}

// The screen of a job is the same for the daemon that follows one that was killed, and
// what was asked of it keeps its one answer.
func TestScreenOutlivesTheDaemon(t *testing.T) {
	m := begins(t)
	job := m.run(messages.RunCommand{Program: messages.Program{Text: asksAtA, Shell: "bash"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 6, Cols: 30}}})
	m.prints(job.ID, "ready")
	m.types(job.ID, "a")
	m.prints(job.ID, "answers:1")
	before := m.shows(job.ID)
	require.Equal(t, []string{"ready", "answers:1", "", "", "", ""}, before.Lines)
	require.Equal(t, messages.Cursor{Row: 1, Visible: true}, before.Cursor)
	for range 3 {
		m.killed()
		m.again()
		require.Equal(t, before, m.shows(job.ID))
	}
	m.types(job.ID, "a")
	m.prints(job.ID, "answers:2")
	m.types(job.ID, "q")
	require.Equal(t, 3, m.awaitEnd(job.ID).ExitCode())
	require.Equal(t, []string{"ready", "answers:2", "", "", "over", ""}, m.shows(job.ID).Lines)

	p := m.beside("screen", string(job.ID)).start()
	require.Equal(t, "ready\nanswers:2\n\n\nover\n", p.rest())
	p.ends(0)
	m.killed()
	m.again()
	require.Equal(t, "over", m.shows(job.ID).Lines[4])
}

// A job without a terminal has no screen; the error names the verb that prints its
// output.
func TestBadInputScreen(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "--name", "plain", "echo hello").start().ends(0)
	p := d.beside("screen", "plain").start()
	p.ends(1)
	p.err.has(t, "has no terminal")
	p.err.has(t, "troupe logs")
	d.beside("screen", "nothing").start().ends(1)
	d.beside("screen").start().ends(2)
	d.beside("screen", "a", "b").start().ends(2)
}
