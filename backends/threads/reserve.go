// Package threads has the threads of a process that runs nothing but troupe made
// before it has jobs. The Go runtime makes one whenever a call of the system blocks and
// no idle one is there, and ends the whole process where the system has none for it. So a
// fork bomb, or any other limit of processes that is reached, would end a keeper
// with all its jobs, or leave the tree of the bomb without anybody who stops it
// (docs/decisions/037).
package threads

import (
	"runtime"
	"sync"
)

// Of the threads that are made, two are for each processor: one that runs, one that forks
// or waits for a disk. More calls than that block at a time only now and then; spare is
// for them. A machine with very many processors would pay for what it never needs.
const (
	spare = 8
	most  = 64
)

// Reserve has this process make what threads it may need. They are idle behind it, and the
// runtime keeps them: it ends no thread but that of a goroutine that ends while it is
// locked to it.
func Reserve() {
	n := min(2*runtime.GOMAXPROCS(0)+spare, most)
	var all, gone sync.WaitGroup
	all.Add(n)
	for range n {
		gone.Go(func() {
			runtime.LockOSThread() // nobody else runs in its thread while it waits
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		})
	}
	gone.Wait()
}
