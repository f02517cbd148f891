package out

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A long name leaves room for what a job does, and a narrow terminal for both.
func TestALongNameLeavesRoomForTheStatus(t *testing.T) {
	t.Parallel()
	now := time.Now()
	jobs := []messages.Record{
		{ID: "j1", Labels: messages.Labels{Name: strings.Repeat("long-", 12)}, Scope: "main/ci", Session: "default", State: messages.Running, Background: true, Started: now, Command: "make every thing"},
		{ID: "j2", Labels: messages.Labels{Name: "b"}, Scope: "main", Session: "default", State: messages.Queued, Created: now, Command: "true"},
	}
	for width, want := range map[int]string{
		30: "ID  NAME      STATUS      COM…\nj1  long-lo…  running 0s  mak…\nj2  b         queued 0s   true\n",
		40: "ID  NAME        STATUS      COMMAND\nj1  long-long…  running 0s  make every …\nj2  b           queued 0s   true\n",
		0:  "",
	} {
		var b strings.Builder
		require.NoError(t, JobTable(jobs, nil, now).Write(&b, width))
		if width > 0 {
			require.Equal(t, want, b.String())
			continue
		}
		require.Contains(t, b.String(), jobs[0].Name+"  main/ci")
	}
}

// Tasks follow the jobs, and KIND tells them apart.
func TestTasksFollowTheJobs(t *testing.T) {
	t.Parallel()
	now := time.Now()
	jobs := []messages.Record{{ID: "j1", Scope: "main", Session: "default", State: messages.Queued, Created: now, Command: "true"}}
	tasks := []messages.Task{
		{ID: "agent-7", Scope: "main", Kind: "agent", State: "running", Since: now.Add(-time.Minute), Description: "reads\x1b the logs"},
		{ID: "t", Scope: "a", Kind: "agent", State: "lost", Ended: true, EndedAt: now.Add(-time.Hour)},
	}
	var b strings.Builder
	require.NoError(t, JobTable(jobs, tasks, now).Write(&b, 0))
	require.Equal(t, `ID       KIND   SCOPE  STATUS        OUTPUT  COMMAND
j1       job    main   queued 0s     ?       true
agent-7  agent  main   running 1m            reads\x1b the logs
t        agent  a      lost, 1h ago
`, b.String())
}

// What the processes of live jobs do has columns of its own, which a narrow terminal omits first.
func TestLiveStatesInATable(t *testing.T) {
	t.Parallel()
	now := time.Now()
	port := func(protocol messages.Protocol, address string, n int) messages.ListeningPort {
		return messages.ListeningPort{Protocol: protocol, Address: address, Port: n}
	}
	jobs := []messages.Record{
		{ID: "j1", Scope: "main", Session: "default", State: messages.Running, Background: true, Started: now, Command: "npm run dev", Live: &messages.LiveState{
			CPU: 95 * time.Second, Memory: 48 << 20, Processes: 3,
			Ports: []messages.ListeningPort{port("tcp", "0.0.0.0", 80), port("tcp", "::", 80), port("tcp", "127.0.0.1", 8080), port("udp", "0.0.0.0", 53), port("udp", "0.0.0.0", 54)},
		}},
		{ID: "j2", Scope: "main", Session: "default", State: messages.Running, Background: true, Started: now, Command: "read x", Live: &messages.LiveState{}},
		{ID: "j3", Scope: "main", Session: "default", State: messages.Queued, Created: now, Command: "true"},
	}
	table := func(width int) string {
		var b strings.Builder
		require.NoError(t, JobTable(jobs, nil, now).Write(&b, width))
		return b.String()
	}
	require.Equal(t, "ID  STATUS      OUTPUT  PROCS  CPU  MEMORY  PORTS             COMMAND\n"+
		"j1  running 0s  ?       3      1m   48 MiB  80,8080,53/udp,…  npm run dev\n"+
		"j2  running 0s  ?       0                                     read x\n"+
		"j3  queued 0s   ?                                             true\n", table(0))
	require.Equal(t, "ID  STATUS      OUTPUT  PORTS             COMMAND\n", table(53)[:strings.Index(table(53), "\n")+1])
}

// So does a record, with the addresses.
func TestLiveStateInARecord(t *testing.T) {
	t.Parallel()
	job := messages.Record{ID: "j1", Live: &messages.LiveState{
		CPU: 95*time.Second + 123*time.Millisecond, Memory: 48 << 20, Processes: 1,
		Ports: []messages.ListeningPort{{Protocol: "tcp", Address: "127.0.0.1", Port: 80}, {Protocol: "udp", Address: "::", Port: 53}},
	}}
	require.Contains(t, RecordText(job, time.Now()), "       uses  1 process, 1m35.12s of CPU time, 48 MiB of memory\n    listens  tcp 127.0.0.1:80, udp [::]:53\n")
	job.Live = &messages.LiveState{}
	require.NotContains(t, RecordText(job, time.Now()), "uses")
}

func TestStatusTexts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ended := func(j messages.Record) messages.Record {
		j.State, j.End.At = messages.Finished, now.Add(-2*time.Minute)
		return j
	}
	for want, j := range map[string]messages.Record{
		"running 3s":                     {State: messages.Running, Background: true, Started: now.Add(-3 * time.Second)},
		"running 3s, foreground":         {State: messages.Running, Started: now.Add(-3 * time.Second)},
		"queued 1m":                      {State: messages.Queued, Created: now.Add(-time.Minute)},
		"running 3s, waits for input":    {State: messages.Running, WaitingForInput: true, Started: now.Add(-3 * time.Second)},
		"exited 7, 2m ago":               ended(messages.Record{End: messages.End{Outcome: messages.Exited, Code: new(7)}}),
		"signal KILL, 2m ago":            ended(messages.Record{End: messages.End{Outcome: messages.Signaled, Signal: "KILL"}}),
		"timed out, 2m ago":              ended(messages.Record{End: messages.End{Outcome: messages.TimedOut}}),
		"cancelled, 2m ago":              ended(messages.Record{End: messages.End{Outcome: messages.Cancelled}}),
		"failed to start, 2m ago":        ended(messages.Record{End: messages.End{Outcome: messages.FailedToStart}}),
		"lost, 2m ago":                   ended(messages.Record{End: messages.End{Outcome: messages.Lost}}),
		"running 3s, output was blocked": {State: messages.Running, Flags: []messages.Flag{messages.FlagLogBlocked}, Started: now.Add(-3 * time.Second)},
	} {
		require.Equal(t, want, StatusText(j, now))
	}
}

// One of something is one.
func TestNumbersOfThings(t *testing.T) {
	t.Parallel()
	require.Contains(t, RecordText(messages.Record{ID: "j1", End: messages.End{Children: 1}, OutputOpen: true}, time.Now()), "leftover  1 process, output still open\n")
	require.Contains(t, RecordText(messages.Record{ID: "j1", End: messages.End{Children: 2}}, time.Now()), "leftover  2 processes\n")
}
