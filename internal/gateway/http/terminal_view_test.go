package http_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/internal/api"
	"troupe/messages"
	"troupe/spill/view"
)

// asks prints a question to its terminal for each line that is typed, and the answer.
const asks = `stty -echo; echo ready; while read -r; do stty raw; printf '\033[6n'; IFS= read -rs -d R a; stty -raw; echo "got ${a#*[}."; done`

func (d *daemon) asker() messages.Record {
	d.t.Helper()
	job := d.background(messages.RunCommand{Program: messages.Program{Text: asks, Shell: "bash"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 10, Cols: 40}}})
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "ready"})
	return job
}

func (d *daemon) enter(id messages.JobID) {
	d.t.Helper()
	_, err := d.client.Input(d.t.Context(), messages.WriteInput{Job: id, Data: []byte("\n")})
	require.NoError(d.t, err)
}

// heardUntil is what is printed until a text is.
func (a *attached) heardUntil(text string) string {
	a.t.Helper()
	for !strings.Contains(string(a.data), text) {
		h, err := a.Next(a.t.Context())
		require.NoError(a.t, err)
		a.data = append(a.data, h.Data...)
	}
	return string(a.data)
}

// begun waits for the lease and for what is said about answers, in whatever order.
func (a *attached) begun() (answers api.AttachEvent) {
	a.t.Helper()
	for lease := false; !lease || answers.Kind == ""; {
		h, err := a.Next(a.t.Context())
		require.NoError(a.t, err)
		a.data = append(a.data, h.Data...)
		lease = lease || h.Said.Kind == api.AttachLease
		if h.Said.Kind == api.AttachAnswers {
			answers = h.Said
		}
	}
	return answers
}

// While a client with the lease shows a job on a terminal, that answers; before and
// behind, the daemon does; and nothing twice.
func TestAttachedTerminalAnswers(t *testing.T) {
	d := start(t, nil)
	job := d.asker()
	d.enter(job.ID)
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: `got 2;1\.`})

	a := d.attach(job.ID, client.AttachOptions{Lease: api.AttachTake, Terminal: true})
	answers := a.begun()
	require.True(t, answers.Held)
	a.heardUntil("got 2;1.")
	asked := int64(strings.Index(string(a.data), "\x1b[6n") + 4)
	require.GreaterOrEqual(t, answers.Offset, asked, "what the daemon has answered")
	require.NotContains(t, string((&view.TerminalFilter{}).Append(nil, a.data[:answers.Offset])), "\x1b[6n")

	d.enter(job.ID)
	before := len(a.data)
	for strings.Count(string(a.data[before:]), "\x1b[6n") == 0 {
		h, err := a.Next(t.Context())
		require.NoError(t, err)
		a.data = append(a.data, h.Data...)
	}
	require.NoError(t, a.Write(t.Context(), []byte("\x1b[7;7R")))
	require.NotContains(t, a.heardUntil("got 7;7."), "got 3")

	next := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk})
	require.NoError(t, a.Close())
	for !next.said(api.AttachLease).Held { // the daemon knows now that the first has left
	}
	for i := range 3 {
		d.enter(job.ID)
		d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: fmt.Sprintf(`got %d;1\.`, 4+i)})
	}
	text, err := d.client.Text(t.Context(), job.ID, messages.ReadOutput{Plain: true})
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(text.Text, "got "), "%s", text.Text)
}

// The terminal answers no more whose client has lost the lease.
func TestAttachedTerminalLosesTheLease(t *testing.T) {
	d := start(t, nil)
	job := d.asker()
	a := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk, Terminal: true})
	require.True(t, a.begun().Held)
	a.says(api.AttachYield)
	a.said(api.AttachLease)
	d.enter(job.ID)
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: `got 2;1\.`})
	require.False(t, a.said(api.AttachAnswers).Held)
}

// Who only watches, and a job on pipes, are told nothing of it.
func TestAttachedTerminalNeedsOne(t *testing.T) {
	d := start(t, nil)
	plain := d.background(messages.RunCommand{Program: messages.Program{Text: "echo out; read -r"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	for _, how := range []client.AttachOptions{{Lease: api.AttachTake, Terminal: true}, {Terminal: true}} {
		a := d.attach(plain.ID, how)
		for len(a.data) == 0 {
			h, err := a.Next(t.Context())
			require.NoError(t, err)
			require.NotEqual(t, api.AttachAnswers, h.Said.Kind)
			a.data = append(a.data, h.Data...)
		}
	}
}
