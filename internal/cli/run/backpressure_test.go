package run

import (
	"context"
	"testing"
	"testing/synctest"

	"troupe/messages"
)

// logged is a node whose log has size bytes.
type logged struct {
	size int64
	held chan bool
}

// AskAgain implements asker.
func (n *logged) AskAgain(ctx context.Context, request func() messages.Refusable) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch r := request().(type) {
	case messages.FollowOutput:
		if r.From < n.size {
			return messages.OutputGrew{Size: n.size}, nil
		}
		return messages.OutputEnded{Size: n.size}, nil
	case messages.PauseOutput:
		n.held <- r.Hold
	}
	return messages.Acknowledged{}, nil
}

// A slow reader pauses the command, and resumes it after reading on.
func TestAReaderThatIsBehindHoldsTheCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := &logged{size: 1000, held: make(chan bool, 2)}
		p := &backpressure{hold: &outputPauser{node: node, job: "1"}, most: 100, moved: make(chan struct{}, 1)}
		ended := make(chan struct{})
		go func() {
			p.keep(t.Context())
			close(ended)
		}()
		synctest.Wait()
		if hold := first(t, node.held, ended); !hold {
			t.Error("the command was let go")
		}
		p.reached(1000)
		if hold := first(t, node.held, ended); hold {
			t.Error("the command is still held")
		}
		<-ended
	})
}

// A stream that ends before its reader has caught up resumes the command: the other
// stream may have more output.
func TestAStreamThatEndsHoldsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		node := &logged{size: 1000, held: make(chan bool, 2)}
		p := &backpressure{hold: &outputPauser{node: node, job: "1"}, most: 100, moved: make(chan struct{}, 1)}
		live, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			p.keep(live)
			close(ended)
		}()
		if hold := first(t, node.held, ended); !hold {
			t.Error("the command was let go")
		}
		end()
		if hold := first(t, node.held, ended); hold {
			t.Error("the command is still held")
		}
		<-ended
	})
}

// first returns the first pause request before the end.
func first(t *testing.T, held chan bool, ended chan struct{}) bool {
	t.Helper()
	select {
	case hold := <-held:
		return hold
	case <-ended:
		select {
		case hold := <-held:
			return hold
		default:
		}
		t.Fatal("the pace was given up")
		return false
	}
}
