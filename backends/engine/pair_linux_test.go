package engine

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// grow makes the stack of its goroutine large.
//
//go:noinline
func grow(calls int) (sum byte) {
	var room [64]byte
	if calls > 0 {
		room[calls%len(room)] = grow(calls - 1)
	}
	for _, b := range room {
		sum += b
	}
	return sum
}

// Both ends are of one terminal, also if the stack of who opens it is moved meanwhile:
// it shrinks when garbage is collected. What the kernel was to fill in must not be left
// behind.
func TestBothEndsAreOfOneTerminal(t *testing.T) {
	var collector sync.WaitGroup
	done := make(chan struct{})
	collector.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	})
	defer collector.Wait()
	defer close(done)
	for range 4000 {
		over := make(chan struct{})
		go func() { // its stack is small before
			defer close(over)
			grow(1000)
			master, slave, err := kernel{}.OpenTerminal()
			if err != nil {
				t.Error(err)
				return
			}
			defer unix.Close(master)
			defer unix.Close(slave)
			var st unix.Stat_t
			number, err := unix.IoctlGetUint32(master, unix.TIOCGPTN)
			if failed := unix.Fstat(slave, &st); err != nil || failed != nil || unix.Minor(st.Rdev) != number {
				t.Errorf("the ends of %d and %d (%v, %v)", number, unix.Minor(st.Rdev), err, failed)
			}
		}()
		<-over
	}
}
