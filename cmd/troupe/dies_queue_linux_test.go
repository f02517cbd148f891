package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// Daemons are killed or end in order at random instants while jobs wait for their turns: each
// runs once, in its place, with its environment. A start that was cut off may be lost, but is
// never repeated.
func TestFaultDaemonDiesOverAQueue(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/config.toml"
	require.NoError(t, os.WriteFile(file, []byte("[limits]\nparallel = 1\n"), 0o600))
	m := begins(t, "TROUPE_CONFIG="+file)
	const jobs = 40
	var uids []messages.UID
	for i := range jobs {
		uids = append(uids, m.run(messages.RunCommand{
			Program: messages.Program{Text: fmt.Sprintf("echo $N >> %s; sleep 0.0%d; exit %d", m.file("order"), rand.IntN(6), i)}, Mode: messages.ModeAsync,
			Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"PATH=" + os.Getenv("PATH")}, Set: []string{fmt.Sprintf("N=%d", i)}},
		}).UID)
	}
	kills := instants(8)
	for i := range kills {
		pause(150 * time.Millisecond)
		if i%3 == 2 {
			m.send(syscall.SIGTERM)
			<-m.ended
		} else {
			m.killed()
		}
		m.again()
	}
	lost := map[string]bool{}
	for i, uid := range uids {
		job := m.awaitEnd(messages.JobID(uid))
		if job.End.Outcome == messages.Lost {
			lost[fmt.Sprint(i)] = true
			continue
		}
		require.Equal(t, messages.Exited, job.End.Outcome, "job %d: %v", i, job.End.Err)
		require.Equal(t, i, job.End.Shell())
	}
	t.Logf("%d starts were lost", len(lost))
	require.LessOrEqual(t, len(lost), kills, "an end of a daemon cuts off one start at most")
	text, err := os.ReadFile(m.file("order"))
	require.NoError(t, err)
	ran := strings.Fields(string(text))
	next := 0
	for _, n := range ran {
		for ; fmt.Sprint(next) != n; next++ {
			require.Less(t, next, jobs, "%s ran twice or too early: %v", n, ran)
			require.True(t, lost[fmt.Sprint(next)], "job %d did not run: %v", next, ran)
		}
		next++
	}
}

// A queued job has its request in the journal, which no other user reads, and no more when it has
// started.
func TestFaultQueueInTheJournal(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/config.toml"
	require.NoError(t, os.WriteFile(file, []byte("[limits]\nparallel = 1\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + file})
	open := gate(t, d.file("gate"))
	d.beside("run", "-b", "read x < gate").start().ends(0)
	fg := d.beside("run", "-e", "SECRET=hidden", "--timeout", "1m", `echo "$SECRET $PWD"; exit 4`).start()
	fg.err.has(t, "the command is queued")
	b := d.beside("run", "-b", "-e", "SECRET=hidden", "--name", "later", `echo "$SECRET"; exit 5`).start()
	require.Equal(t, "j3", b.line())
	b.ends(0)
	for _, end := range daemonEnds {
		d = comesAgain(t, d, end)
		require.Equal(t, "queued", d.record("later")["state"])
	}
	info, err := os.Stat(d.file("troupe/journal.db"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	open()
	require.Equal(t, "hidden "+d.dir, fg.line())
	fg.ends(4)
	d.beside("wait", "later").start().ends(5)
	require.Equal(t, "hidden\n", d.beside("logs", "later").start().rest())
}
