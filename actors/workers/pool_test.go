package workers

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// What is scheduled runs, whoever schedules it, and one who rests is called
// before another is made.
func TestEverythingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		var mu sync.Mutex
		ran := 0
		for range 1000 {
			p.Schedule(func() { mu.Lock(); ran++; mu.Unlock() })
		}
		synctest.Wait()
		require.Equal(t, 1000, ran)
		require.LessOrEqual(t, len(p.idle), maxIdle)

		before := len(p.idle)
		for range 100 {
			p.Schedule(func() { ran++ })
			synctest.Wait()
		}
		require.Equal(t, 1100, ran)
		require.Len(t, p.idle, before)
		p.Close() // the bubble fails if a worker stays
	})
}

// A worker may schedule work itself, and work that comes after the end is done.
func TestWorkMakesWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		done := make(chan int, 2)
		p.Schedule(func() { p.Schedule(func() { done <- 1 }) })
		require.Equal(t, 1, <-done)
		p.Close()
		p.Schedule(func() { done <- 2 })
		require.Equal(t, 2, <-done)
		p.Close()
	})
}
