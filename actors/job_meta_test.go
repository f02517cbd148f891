package actors

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/backends"
	"troupe/internal/test/keys"
	"troupe/messages"
)

// However little of a memo fits, it has what the next node must know to do right by
// the job.
func TestAMemoThatHardlyFits(t *testing.T) {
	for _, long := range []int{10, backends.MaxMeta} {
		job := messages.Record{
			ID: "j1", Mode: messages.ModeSync, Background: true, Labels: messages.Labels{Name: strings.Repeat("n", long)}, Command: strings.Repeat("c", long),
			Flags: []messages.Flag{messages.FlagKept},
		}
		b := (&metaEncoder{terms: &jobOptions{grace: -1}, answered: 7}).of(&job)
		require.LessOrEqual(t, len(b), backends.MaxMeta)
		m := decodeJobMeta(b)
		require.NotNil(t, m)
		back := m.job("u")
		require.Equal(t, messages.JobID("j1"), back.ID)
		require.True(t, m.Job.Background)
		require.True(t, back.Kept())
		require.Equal(t, int64(7), m.Answered)
		require.EqualValues(t, -1, m.terms(back).grace)
	}
}

// Limits of a session that leave no room are dropped before the key, by which a client finds its
// job again.
func TestAMemoWithLongLimits(t *testing.T) {
	for long, kept := range map[int]bool{100: true, backends.MaxMeta: false} {
		at := messages.SessionPlan{Backend: messages.BackendPipe, Limits: messages.Limits{CPUs: strings.Repeat("0", long)}}
		b := (&metaEncoder{at: at, keep: &recoveryMeta{key: "k"}, terms: &jobOptions{}}).of(&messages.Record{ID: "j1", Mode: messages.ModeAsync})
		require.LessOrEqual(t, len(b), backends.MaxMeta)
		m := decodeJobMeta(b)
		require.NotNil(t, m)
		require.EqualValues(t, "k", m.Run.Key)
		require.Equal(t, kept, !m.Place.Limits.IsZero())
	}
}

// A memo has what a list shows of a job, and no part of a rune; that of a live shell is none of a job.
func TestAMemo(t *testing.T) {
	job := messages.Record{
		ID: "j1", Labels: messages.Labels{Tag: "t\xff"}, Command: strings.Repeat("c", previewLength-1) + "é", Mode: messages.ModeAsync, Dir: "/d\xff", Seq: 7,
		Output: []messages.StreamOutput{{Stream: messages.Stdout, Bytes: 5}, {Stream: messages.Stderr}}, OnFinish: messages.Notices([]string{"cmd"}),
	}
	at := messages.SessionPlan{Backend: messages.BackendPipe, Dir: "/s"}
	b := (&metaEncoder{at: at, terms: &jobOptions{onExit: messages.KeepChildren, shown: true}}).of(&job)
	m := decodeJobMeta(b)
	require.NotNil(t, m)
	want := job
	want.UID, want.Backend, want.State, want.Seq, want.Command = "u", messages.BackendPipe, messages.Starting, 0, strings.Repeat("c", previewLength-1)
	want.Output, want.Request = []messages.StreamOutput{{Stream: messages.Stdout}, {Stream: messages.Stderr}}, &messages.RequestTerms{Partial: true}
	require.Equal(t, want, m.job("u"))
	require.Equal(t, at, m.Place)
	require.Equal(t, messages.Seq(7), m.Job.Seq)
	require.True(t, m.Run.Shown)
	require.Equal(t, &jobOptions{background: true, named: true, onExit: messages.KeepChildren}, m.terms(m.job("u")))

	_, _, shell := backends.ReadShellMeta(b)
	require.False(t, shell)
	require.Nil(t, decodeJobMeta(backends.ShellMeta(backends.ExecutorSpec{Scope: "main", Session: "s"}, "shell")))
}

func TestKeysOfMemos(t *testing.T) { keys.Check(t, jobMeta{}) }

// A memo has what a rerun needs if it has the whole command, else that the command is not whole.
func TestAMemoForARerun(t *testing.T) {
	for command, whole := range map[string]bool{"make": true, strings.Repeat("m", previewLength+1): false} {
		r := messages.RunCommand{Program: messages.Program{Argv: []string{command}}, Dir: "/d", Umask: "0077", ProcAttr: messages.ProcAttr{IdleTimeout: 5}, RerunOf: "u1"}
		job := newJob(r, "j1", "u")
		back := decodeJobMeta((&metaEncoder{terms: &jobOptions{}}).of(&job)).job("u")
		require.Equal(t, !whole, back.Request.Partial)
		require.EqualValues(t, 5, back.IdleTimeout())
		require.EqualValues(t, "u1", back.RerunOf())
		_, err := messages.RunCommand{RerunOf: "j1"}.Repeating(back, false)
		require.Equal(t, whole, err == nil, err)
		if whole {
			require.Equal(t, job.Argv, back.Argv)
			require.Equal(t, job.Request, back.Request)
		}
	}
}
