package node_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// keeping is an engine whose jobs live in another process.
type keeping struct {
	*fake.Engine
	kept chan bool
}

// Close implements backends.Engine.
func (k keeping) Close(keep bool) []messages.Survivor {
	k.kept <- keep
	return k.Engine.Close(keep)
}

// unread is a journal that cannot be read, for which nobody waits any more.
type unread struct {
	*journal.Memory
	giveUp func()
}

func (u unread) Last() (messages.Seq, error) {
	u.giveUp()
	return 0, errors.New("the disk does not answer")
}

// A node that could not be opened leaves the jobs that its engine keeps alone.
func TestANodeThatCannotBeOpenedKeepsItsJobs(t *testing.T) {
	engine := keeping{fake.New(fake.Options{}), make(chan bool, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := node.Open(ctx, node.Options{Engine: engine, Logs: fake.NewStore(), Journal: unread{journal.NewMemory(0), cancel}})
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, <-engine.kept)
}
