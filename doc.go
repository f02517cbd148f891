// Package troupe supervises shell jobs: it runs commands, keeps their output, and ends all
// their processes. A Node runs them in this process (Open) or in a daemon (Connect); the rest of
// a program is the same.
//
//	node, err := troupe.Open(ctx, troupe.Options{})
//	defer node.Close()
//	text, err := node.Output(ctx, troupe.Sh("make test"))
//
//	job, err := node.Start(ctx, troupe.Exec("ping", "localhost"))
//	lines := bufio.NewScanner(job.Stdout(ctx))
//	err = job.Stop(ctx)
//
// The programs in examples/ show the rest. Node.Host has every request of package messages.
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
//	errors.go       ExitError, and what errors.Is finds in it
//	job.go          Job: its streams, its input, its end
//	run.go          Run, Output and Start
//	session.go      Session: a live shell, or a place for jobs
//	node.go         Node, Options, Open and Connect
package troupe
