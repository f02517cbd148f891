// Package threads starts the threads of a process that runs only troupe before it has jobs. The
// Go runtime starts a thread when a system call blocks and no idle thread exists. It ends the
// process if it cannot. At a limit of processes, as in a fork bomb, a keeper would die with
// its jobs, or the daemon that stops the bomb (docs/decisions/037).
//
// Files:
//
//	reserve.go   starts the threads
package threads
