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
//	arch64_only.go      stops the build for words of 32 bits
//	ask.go              sends a request to the tree and waits for its reply
//	check.go            what is wrong with Options
//	command.go          Command, and what makes one
//	dialect_host.go     the node as the host of dialects
//	failures.go         middleware that counts failures of actors
//	input.go            writes to a job's standard input
//	keys.go             bytes of keys and pastes for a job's terminal
//	node.go             Node, Open and Shutdown
//	options.go          Options, and the parts of a node made from them
//	output.go           Follower, views and the screen
//	output_keep.go      kept files, and views of finished jobs
//	output_order.go     output order, and the byte at a time
//	request_clone.go    copies requests, so that callers may reuse their slices
//	restore.go          the state before the node: journal and inventory
//	run.go              runs, finds, lists, stops and measures jobs
//	shell_snapshots.go  shell snapshots of a node's users
//	subscribe.go        subscriptions to facts
package troupe
