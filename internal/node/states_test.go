package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/internal/test/fake"
	"troupe/messages"
	"troupe/spill"
)

// afar are logs of which each is a question to another process.
type afar struct {
	*fake.Store
	questions int
	states    map[spill.Name]spill.State
}

// States implements actors.ManyLogs.
func (a *afar) States([]string) map[spill.Name]spill.State {
	a.questions++
	return a.states
}

// Open implements actors.Logs.
func (a *afar) Open(id string, stream uint8) (spill.Log, error) {
	a.questions++
	return a.Store.Open(id, stream)
}

// A list of jobs asks once for the sizes of all outputs, and shows what was told of
// one that nobody knows the size of.
func TestListedJobsAreMeasuredByOneQuestion(t *testing.T) {
	logs := &afar{Store: fake.NewStore(), states: map[spill.Name]spill.State{}}
	engine := fake.New(fake.Options{Store: logs.Store, Auto: func(string) *fake.Script { return &fake.Script{} }})
	node, err := node.Open(t.Context(), node.Options{Engine: engine, Logs: logs, Journal: journal.NewMemory(0), WorkDir: "/"})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(t.Context(), messages.ShutdownNode{Grace: -1})) }()
	for n := range 5 {
		job, err := node.Run(t.Context(), messages.RunCommand{Program: messages.Program{Argv: []string{"/bin/true"}}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Streams: messages.SeparateStreams}})
		require.NoError(t, err)
		if n > 0 {
			logs.states[spill.Name{ID: string(job.UID), Stream: uint8(messages.Stderr)}] = spill.State{
				Size: int64(n), File: "/there", Gaps: []spill.Gap{{From: 0, To: 1}},
			}
		}
	}
	logs.questions = 0
	list, err := node.Host().Do(t.Context(), messages.ListJobs{Finished: true})
	require.NoError(t, err)
	jobs := list.(messages.JobList).Jobs
	require.Len(t, jobs, 5)
	require.Equal(t, 1, logs.questions)
	require.Equal(t, []messages.StreamOutput{{Stream: messages.Stdout}, {Stream: messages.Stderr}}, jobs[0].Output)
	require.Equal(t, messages.StreamOutput{
		Stream: messages.Stderr, Bytes: 4, File: "/there", Elided: []messages.OutputGap{{From: 0, To: 1}},
	}, jobs[4].Output[1])
}
