// Package signals keeps the processes of jobs from ending the keeper and the daemon with a
// signal. Every job's parent is the keeper, so kill $PPID in a command would end the jobs of
// all clients (docs/decisions/047).
//
// Go's os/signal drops the sender of a signal. A Guard puts an entry of a few instructions
// before Go's handler. The entry passes faults, and signals of the kernel and of this process,
// to Go's handler. It notes the sender of any other signal that could end the process, and
// rings: it passes a signal that has no other use. Guard.Run then looks for the sender in
// /proc. It sends an obeyed signal to this process again, and reports a refused one.
//
// Origin finds the job of any process, for requests that come over a socket.
//
// Files:
//
//	guard.go    Guard: installs the entry and runs the checks; elsewhere nothing is guarded
//	origin.go   Origin: the job whose tree a process belongs to
//	sender.go   Sender: what is known of the sender of a signal
//	trace.go    traces a sender to its job in /proc
package signals
