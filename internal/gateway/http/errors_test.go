package http

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// An error without a code is a fault of ours, or the end of the node.
func TestErrorsWithoutACode(t *testing.T) {
	s := New(Options{Node: ended{}})
	require.Equal(t, messages.Internal, s.coded(errors.New("something")).Code)
	s = New(Options{Node: ended{err: errors.New("over")}})
	require.Equal(t, messages.ShuttingDown, s.coded(errors.New("something")).Code)
	require.Equal(t, messages.Busy, s.coded(&messages.Error{Code: messages.Busy}).Code)
}

// ended is a node that is asked only whether it lives.
type ended struct {
	Node
	err error
}

func (e ended) Err() error { return e.err }
