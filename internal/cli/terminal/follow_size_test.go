package terminal

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/messages"
)

// A dragged window sends a size each resizeEvery, and its last one in any case.
func TestSizesOfADraggedWindowAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var cols atomic.Int64
		cols.Store(80)
		now := func() messages.Terminal { return messages.Terminal{Rows: 24, Cols: int(cols.Load())} }
		changed := make(chan os.Signal, 1)
		var sizes []messages.Terminal
		var at []time.Time
		go FollowSize(ctx, changed, now(), now, func(size messages.Terminal) {
			sizes, at = append(sizes, size), append(at, time.Now())
		})
		synctest.Wait()
		require.Empty(t, sizes, "the size is as it was")
		for i := range 100 { // a second, 100 sizes
			cols.Store(int64(100 + i))
			select {
			case changed <- unix.SIGWINCH:
			default:
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(resizeEvery)
		synctest.Wait()
		require.Equal(t, 100, sizes[0].Cols, "the first is sent at once")
		require.Equal(t, now(), sizes[len(sizes)-1])
		require.LessOrEqual(t, len(sizes), 21)
		for i := 1; i < len(at); i++ {
			require.GreaterOrEqual(t, at[i].Sub(at[i-1]), resizeEvery)
		}
	})
}
