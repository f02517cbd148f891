package threads

import (
	"runtime"
	"sync"
)

// Numbers of threads. Each processor has two: one that runs, one that forks or waits for a disk.
// spare is for the rare moments with more blocked calls. most bounds the costs on a
// machine with many processors.
const (
	spare = 8
	most  = 64
)

// Reserve makes this process start the threads that it may need; the returned function waits
// until they have started. They stay, idle: the runtime ends a thread only with a goroutine that
// is locked to it.
func Reserve() (started func()) {
	n := min(2*runtime.GOMAXPROCS(0)+spare, most)
	var all, gone sync.WaitGroup
	all.Add(n)
	for range n {
		gone.Go(func() {
			runtime.LockOSThread() // keeps other goroutines off this thread while it waits
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		})
	}
	return gone.Wait
}
