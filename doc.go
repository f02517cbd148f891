// Package troupe supervises shell jobs. A Node is a tree of actors around the processes it
// runs: sessions, commands, outputs and subscribers. A supervisor handles timeouts, promotion
// to the background, cancellation and notices by message passing.
//
//	node, err := troupe.Open(ctx, troupe.Options{})
//	job, err := node.Run(ctx, troupe.Sh("make test"))
//	fmt.Println(job.End.Outcome, job.End.Shell())
//	err = node.Shutdown(ctx, messages.ShutdownNode{})
//
// A job has exactly one outcome. The exit of its main process decides it, not the end of its
// output. Its log holds everything that the main process wrote before the outcome is
// reported. A stop ends the whole process tree or names the survivors. An actor that fails
// loses no job.
//
// An embedded node runs its jobs as children of the host process, so they end with it. The
// next node with the same Options.Dir stops what is left of them, if they had cgroups or the
// process was the node's own. Without a writable cgroup a library host reaches only the
// process groups of a job, and sets the flag tree_unverified. Processes that outlive the host
// are then not found again. A host that waits for all its children, or ignores SIGCHLD, takes
// the exit status of a job. Since Linux 6.15 the node still gets it; before, the job is exited
// with 255 and has the flag keeper_fault.
//
// A job inherits no descriptors of the host. The host's descriptors from 1024 on, and those
// near its limit and above, become close-on-exec.
//
// Files:
//
//	arch64_only.go  stops the build for words of 32 bits
//	command.go      Command, and what makes one
//	node.go         Node, Options and Open
package troupe
