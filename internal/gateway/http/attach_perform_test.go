package http

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/messages"
)

// answeringNode gives every request one reply. The other methods are not called.
type answeringNode struct {
	Node
	reply any
	err   error // of a node that has ended
}

func (n answeringNode) Ask(context.Context, messages.Refusable) (any, error) { return n.reply, n.err }

func (n answeringNode) Err() error { return n.err }

// Input that an ending daemon did not pass on is neither acknowledged nor refused: the client
// asks the next daemon how much of it the job has. Any other reply is sent.
func TestFaultInputOfAnEndingDaemonIsNotAcknowledged(t *testing.T) {
	refused := func(code messages.Code) any {
		return messages.CommandRejected{Err: messages.Error{Code: code, Message: "no"}}
	}
	for name, c := range map[string]struct {
		node answeringNode
		want []string // kinds of the notices
	}{
		"it leaves the job to the next daemon": {answeringNode{reply: refused(messages.ShuttingDown)}, nil},
		"its node has ended":                   {answeringNode{err: errors.New("the node is closed")}, nil},
		"the job takes it":                     {answeringNode{reply: messages.InputWritten{Through: 3}}, []string{api.AttachWritten}},
		"the job has ended":                    {answeringNode{reply: refused(messages.JobFinished)}, []string{api.AttachFailed}},
		"its actor has failed":                 {answeringNode{reply: refused(messages.Internal)}, []string{api.AttachFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &attachment{
				request: &request{Server: New(Options{Node: c.node})}, uid: "job",
				notices: make(chan api.AttachEvent, maxNotices), answers: make(chan struct{}, maxAnswers),
			}
			a.perform(t.Context(), messages.WriteInput{Job: "job", Data: []byte("one")})
			var kinds []string
			for len(a.notices) > 0 {
				kinds = append(kinds, (<-a.notices).Kind)
			}
			require.Equal(t, c.want, kinds)
		})
	}
}
