package http

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/messages"
)

// sizedNode is a node with one job, whose terminal has had sizes.
type sizedNode struct {
	Node
	sizes []messages.Terminal
	at    []time.Time
}

func (n *sizedNode) Job(context.Context, messages.JobID) (messages.Record, error) {
	return messages.Record{Terminal: n.sizes[len(n.sizes)-1]}, nil
}

func (n *sizedNode) Ask(_ context.Context, r messages.Refusable) (any, error) {
	if size := r.(messages.ResizeTerminal).Size; size != n.sizes[len(n.sizes)-1] { // else the kernel sends no signal
		n.sizes, n.at = append(n.sizes, size), append(n.at, time.Now())
	}
	return messages.Acknowledged{}, nil
}

func (n *sizedNode) Err() error { return nil }

// resizing plays an attachment that holds the lease, in virtual time.
func resizing(t *testing.T, play func(a *attachment, n *sizedNode)) {
	synctest.Test(t, func(t *testing.T) {
		n := &sizedNode{sizes: []messages.Terminal{{Rows: 24, Cols: 80}}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := &attachment{
			request: &request{Server: New(Options{Node: n})}, uid: "job", sizes: make(chan resizeRequest, 1),
			notices: make(chan api.AttachEvent, maxNotices), answers: make(chan struct{}, maxAnswers),
		}
		a.join(a)
		a.change(a, api.AttachAsk)
		go a.size(ctx)
		synctest.Wait()
		play(a, n)
	})
}

// A dragged window changes the size of the terminal once in resizeEvery, and the last of its
// sizes is set.
func TestResizesAreCoalesced(t *testing.T) {
	resizing(t, func(a *attachment, n *sizedNode) {
		for i := range 100 { // a second, 100 sizes
			require.Nil(t, a.wantsSize(messages.Terminal{Rows: 24, Cols: 81 + i}))
			time.Sleep(10 * time.Millisecond)
		}
		<-a.sized
		require.Equal(t, 81, n.sizes[1].Cols, "the first is set at once")
		require.Equal(t, messages.Terminal{Rows: 24, Cols: 180}, n.sizes[len(n.sizes)-1])
		require.LessOrEqual(t, len(n.sizes), 22)
		for i := 1; i < len(n.at); i++ {
			require.GreaterOrEqual(t, n.at[i].Sub(n.at[i-1]), resizeEvery)
		}
	})
}

// A burst that ends with the size from before, and one row more and back, which asks for a
// repaint: the program repaints, and the size is right.
func TestARepaintIsNotLostAmongResizes(t *testing.T) {
	for name, sizes := range map[string][]messages.Terminal{
		"alone":         {{Rows: 25, Cols: 80}, {Rows: 24, Cols: 80}},
		"after a burst": {{Rows: 30, Cols: 90}, {Rows: 31, Cols: 91}, {Rows: 25, Cols: 80}, {Rows: 24, Cols: 80}},
		"by request":    {{}},
		"both":          {{Rows: 24, Cols: 80}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			resizing(t, func(a *attachment, n *sizedNode) {
				for _, size := range sizes {
					require.Nil(t, a.wantsSize(size))
				}
				<-a.sized
				require.Greater(t, len(n.sizes), 1, "the program got no signal")
				require.LessOrEqual(t, len(n.sizes), 5)
				require.Equal(t, messages.Terminal{Rows: 24, Cols: 80}, n.sizes[len(n.sizes)-1])
			})
		})
	}
}

// Input after a size waits for it, or for the one that replaces it.
func TestInputWaitsForTheCoalescedSize(t *testing.T) {
	resizing(t, func(a *attachment, n *sizedNode) {
		require.Nil(t, a.wantsSize(messages.Terminal{Rows: 1, Cols: 1}))
		synctest.Wait()
		require.Nil(t, a.wantsSize(messages.Terminal{Rows: 2, Cols: 2}))
		first := a.sized
		require.Nil(t, a.wantsSize(messages.Terminal{Rows: 3, Cols: 3}))
		<-first
		require.Equal(t, messages.Terminal{Rows: 3, Cols: 3}, n.sizes[len(n.sizes)-1])
	})
}
