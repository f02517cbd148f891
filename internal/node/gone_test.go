package node_test

import (
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/internal/test/fake"
	"troupe/messages"
	"troupe/spill"
)

// The output of a job that is over and had to make room is told as what it was: a
// gap of its size, to who follows, reads a page, and looks at the end.
func TestAnOutputThatWasLetGoIsAGap(t *testing.T) {
	t.Parallel()
	node, err := node.Open(t.Context(), node.Options{Dir: t.TempDir() + "/root", Storage: spill.Limits{Finished: 1}})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(t.Context(), messages.ShutdownNode{})) }()
	first, err := node.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "echo hello"}})
	require.NoError(t, err)
	_, err = node.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "echo other"}})
	require.NoError(t, err)
	f, err := node.Output(t.Context(), first.ID, messages.Merged, 0)
	require.NoError(t, err)
	defer f.Close()
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Empty(t, text)
	require.Equal(t, []messages.OutputGap{{From: 0, To: 6}}, f.Gaps())
	page, err := node.Read(t.Context(), messages.ReadOutput{Job: first.ID, View: messages.View{Kind: messages.ViewRange}})
	require.NoError(t, err)
	require.Equal(t, []messages.OutputGap{{From: 0, To: 6}}, page.Gaps)
	require.True(t, page.Closed)
	require.EqualValues(t, 6, page.Bytes)
	tail, err := node.Read(t.Context(), messages.ReadOutput{Job: first.ID, View: messages.View{Kind: messages.ViewTail}})
	require.NoError(t, err)
	require.Equal(t, []messages.OutputGap{{From: 0, To: 6}}, tail.Gaps)
}

// removable are logs of another process, which it can remove while they are open here.
type removable struct {
	*fake.Store
	removed *atomic.Bool
}

func (r removable) Open(id string, stream uint8) (spill.Log, error) {
	log, err := r.Store.Open(id, stream)
	return removableLog{log, r.removed}, err
}

type removableLog struct {
	spill.Log
	removed *atomic.Bool
}

// Err implements spill.RemoteLog.
func (l removableLog) Err() error {
	if l.removed.Load() {
		return &messages.Error{Code: messages.OutputUnavailable, Reason: spill.EvictedReason}
	}
	return nil
}

// An output that is removed while it is read ends with a gap.
func TestAnOutputThatIsRemovedWhileItIsReadIsAGap(t *testing.T) {
	t.Parallel()
	logs := removable{fake.NewStore(), new(atomic.Bool)}
	engine := fake.New(fake.Options{Store: logs.Store, Auto: func(string) *fake.Script {
		return &fake.Script{Steps: []fake.Step{fake.Write(0, messages.Merged, "hello\n"), fake.Exit(0, 0)}}
	}})
	node, err := node.Open(t.Context(), node.Options{Engine: engine, Logs: logs, Journal: journal.NewMemory(0), WorkDir: "/"})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Shutdown(t.Context(), messages.ShutdownNode{Grace: -1})) }()
	job, err := node.Run(t.Context(), messages.RunCommand{Program: messages.Program{Argv: []string{"/bin/true"}}})
	require.NoError(t, err)
	f, err := node.Output(t.Context(), job.ID, messages.Merged, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = io.ReadFull(f, make([]byte, 2))
	require.NoError(t, err)
	logs.removed.Store(true)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Empty(t, text)
	require.Equal(t, []messages.OutputGap{{From: 2, To: 6}}, f.Gaps())
}
