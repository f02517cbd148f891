// Package workers runs actors on reused goroutines. A fresh goroutine per message grows its
// stack each time, which costs a command 70 µs in all. The actors start no goroutines.
//
//	fifo.go        the queue of mailboxes and of the run queue
//	mailbox.go     the messages of one actor, bounded turns, messages after a stop
//	pool.go        goroutines for work that may wait
//	run_queue.go   short work, run by the goroutine that made it or by a worker
package workers
