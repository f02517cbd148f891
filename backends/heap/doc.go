// Package heap tunes the garbage collector of a process that runs only troupe. The default of
// the runtime, growth by as much as is live, collects too often in a process with little live
// memory. It wastes memory in a process with thousands of idle jobs. While thousands of jobs
// start or end it is right (docs/decisions/033, 036).
//
// Files:
//
//	tune.go   the target of the next collection, and the return of memory
package heap
