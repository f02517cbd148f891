package workers

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// What is put in line is done, in order, whether or not somebody has joined.
func TestLineIsDoneInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l RunQueue
		var got []int
		for i := range 5 {
			l.Schedule(func() { got = append(got, i) })
		}
		synctest.Wait()
		l.Join()
		for i := range 5 {
			l.Schedule(func() { got = append(got, 5+i) })
		}
		require.Len(t, got, 5, "nobody else is called for what one who has joined will do")
		l.Leave()
		require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, got)
		l.Schedule(func() { got = append(got, 10) })
		synctest.Wait()
		require.Len(t, got, 11, "who has left is not waited for")
		l.Apart.Close()
	})
}

// Who has joined does not do the work of all for ever.
func TestLineLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l RunQueue
		done, gone := 0, make(chan struct{})
		var again func()
		again = func() {
			if done++; done > turn {
				<-gone // this is another's
			}
			if done < 2*turn {
				l.Schedule(again)
			}
		}
		l.Join()
		l.Schedule(again)
		l.Leave()
		close(gone)
		synctest.Wait()
		require.Equal(t, 2*turn, done)
		l.Apart.Close()
	})
}

// A long line calls others.
func TestLineCallsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l RunQueue
		var done atomic.Int64
		l.Join()
		for range longQueue + 1 {
			l.Schedule(func() { done.Add(1) })
		}
		synctest.Wait()
		require.EqualValues(t, longQueue+1, done.Load(), "a worker should have come")
		l.Leave()
		require.Zero(t, l.active)
		l.Apart.Close()
	})
}

// Many at once lose nothing and count right.
func TestLineOfMany(t *testing.T) {
	var l RunQueue
	var wait, all sync.WaitGroup
	all.Add(8 * 1000)
	for range 8 {
		wait.Go(func() {
			for i := range 1000 {
				if i%3 == 0 {
					l.Join()
				}
				l.Schedule(all.Done)
				if i%3 == 0 {
					l.Leave()
				}
			}
		})
	}
	wait.Wait()
	all.Wait()
	l.Apart.Close()
}
