package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/journal"
	"troupe/messages"
)

// What a job that is over has printed outlives its keeper: in the record if it is
// little, with the order of its streams, else in a file. The keeper holds no memory
// for it.
func TestOutputOutlivesTheKeeper(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for name, text := range map[string]string{
		"little": "echo little", "apart": "echo out; sleep 0.05; echo err >&2; sleep 0.05; echo more", "much": "seq 1 5000", "nothing": "true",
	} {
		d.beside("run", "-b", "--streams", "separate", "--name", name, text).start().ends(0)
		d.beside("wait", name).start().ends(0)
	}
	d.beside("run", "-b", "--name", "merged", "echo one; echo two").start().ends(0)
	d.beside("wait", "merged").start().ends(0)
	state := filepath.Join(d.dir, "troupe")
	pid := keeperPID(t, state)
	memfds := func() (n int) {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, f := range files {
			if to, err := os.Readlink(f); err == nil && strings.HasPrefix(to, "/memfd:") {
				if info, err := os.Stat(f); err == nil && info.Size() > 0 {
					n++
				}
			}
		}
		return n
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(tooLong / 4); memfds() > 0 && time.Now().Before(late); <-tick.C { // no event tells of it
	}
	require.Zero(t, memfds())
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	for name, want := range map[string]string{"little": "little\n", "nothing": "", "merged": "one\ntwo\n", "apart": "out\nmore\n"} {
		q := d.beside("logs", name).start()
		require.Equal(t, want, q.rest(), name)
		q.ends(0)
	}
	q := d.beside("logs", "--stream", "stdout", "much").start()
	text := q.rest()
	require.True(t, strings.HasSuffix(text, "\n4999\n5000\n"), "%d bytes: %s", len(text), q.err)
	q.ends(0)
	q = d.beside("ps", "-a", "--json").start()
	var list struct {
		Jobs []struct {
			Name   string
			Output map[string]struct {
				Bytes int64
				File  string
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(q.rest()), &list))
	q.ends(0)
	sizes := map[string]int64{}
	for _, j := range list.Jobs {
		for _, out := range j.Output {
			sizes[j.Name] += out.Bytes
			require.Equal(t, out.Bytes > 4096, out.File != "", "the file of %s: %q", j.Name, out.File)
		}
	}
	require.Equal(t, map[string]int64{"little": 7, "nothing": 0, "merged": 8, "apart": 13, "much": 23893}, sizes)
}

// A journal that was left alone for longer than it keeps its records forgets them
// before a daemon reads it: their outputs do not stay for ever.
func TestOutputsOfForgottenRecordsAreRemoved(t *testing.T) {
	t.Parallel()
	m := begins(t)
	job := m.awaitEnd(messages.JobID(m.run(messages.RunCommand{Program: messages.Program{Text: "seq 1 100000"}}).UID))
	logs := func() int {
		all, err := filepath.Glob(filepath.Join(m.state, config.KeeperName, config.LogsName, "*/sessions/*/"+string(job.UID)+".*"))
		require.NoError(t, err)
		return len(all)
	}
	require.Equal(t, 1, logs())
	_, err := host.Ask(t.Context(), m.client.Host(), messages.ShutdownNode{}) // after it all is settled
	require.NoError(t, err)
	m.ends(0)
	path := filepath.Join(m.state, config.JournalName)
	require.NoError(t, os.Remove(path))
	b, err := journal.OpenBolt(path, journal.BoltOptions{Retention: journal.Retention{Age: 1000 * connect.JournalAge}})
	require.NoError(t, err)
	job.End.At = time.Now().Add(-2 * connect.JournalAge)
	retired := job
	retired.State, job.State = messages.Retired, messages.Finished
	require.NoError(t, b.Append([]messages.FactRecorded{{Seq: 1, Fact: messages.CommandFinished{Job: job}}, {Seq: 2, Fact: messages.CommandRetired{Job: retired}}}))
	require.NoError(t, b.Close())
	m.again()
	_, err = m.find(messages.JobID(job.UID))
	require.ErrorIs(t, err, &messages.Error{Code: messages.NotFound})
	settles(t, "logs", 0, logs)
}
