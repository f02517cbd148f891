package terminal

import (
	"context"
	"os"
	"time"

	"troupe/messages"
)

// resizeEvery is the least time between two sizes. A dragged window changes its size dozens of
// times a second, and each change makes the program of the job paint its whole screen.
const resizeEvery = 50 * time.Millisecond

// FollowSize passes each new size of a terminal to set: at once, then after each signal. Of the
// sizes within resizeEvery it passes the last. It returns when ctx ends.
func FollowSize(ctx context.Context, changed <-chan os.Signal, last messages.Terminal, size func() messages.Terminal, set func(messages.Terminal)) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		if now := size(); now != last {
			last = now
			set(now)
			pause.Reset(resizeEvery)
			continue
		}
		select {
		case <-changed:
			pause.Reset(0)
		case <-ctx.Done():
			return
		}
	}
}
