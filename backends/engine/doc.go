// Package engine runs jobs on the operating system: it forks them, moves their output into
// logs, reaps and stops them, and reports facts. Local is the engine of one process; a
// library's host, the CLI and a keeper use it alike. It knows nothing of actors.
//
// docs/design/engine.md gives its promises and their reasons. No job costs a thread. On Linux
// a quiet job costs no goroutine. A busy job has one for each of its streams, parked in the
// netpoller. Output is spliced, and does not pass through the engine's memory.
//
// A job's processes are tracked by the strongest means available: a cgroup v2 for each job;
// descent from this process, if that belongs to the engine; or the job's process groups.
//
//	cgroup.go               one cgroup, leased to a job
//	cgroup_events.go        inotify watches for cgroups that become empty
//	cgroup_remover.go       removes used cgroups one by one
//	cgroups.go              the engine's directory and pool of cgroups
//	child_limits.go         gives jobs the limits of the user
//	clear_signals.go        gives jobs default signals
//	controls.go             performs and answers the controls of a job
//	credits.go              one-time requests for OutputGrew
//	deadline.go             the engine's own deadline of a job
//	dismiss.go              waits for the jobs, or drops them, when the engine ends
//	drain.go                drains a stream at the exit
//	escapees.go             knows the processes that have left their cgroup
//	escalation.go           stops a job: TERM, grace, KILL, survivors
//	exit.go                 from the exit of the main process to the result
//	exit_peek.go            reads an exit status without the reap
//	exits.go                waits for exits by kqueue
//	fact_queue.go           delivers facts in order, keeps them until settled
//	fd_retry.go             retries calls that ran out of descriptors
//	features.go             what the engine can use on this machine
//	fork_inflight.go        the forks in progress
//	fork_pool.go            threads that fork with their own umask and descriptors
//	frozen.go               finds jobs that a signal has stopped
//	idle_timer.go           stops a job that writes nothing
//	input.go                standard input: queue and writer
//	input_wait.go           detects jobs that wait for input
//	job.go                  the state of a job and the order of its facts
//	kill_pool.go            stops without grace, a few at a time
//	launch.go               starts one process
//	leftovers.go            kills tagged processes of a dead node
//	limits.go               gives jobs the limits of their request
//	live_state.go           what the processes of jobs do and use now
//	liveshell.go            the state of a live shell
//	local.go                Local, the engine
//	lookup.go               finds a program in the PATH
//	main_process.go         the main process of a job
//	memory.go               OOM kills, and the rank of jobs for them
//	open_terminal.go        opens pseudo-terminals
//	options.go              Options, and the failpoints
//	orphan_origin.go        finds the job of an orphan
//	orphan_scan.go          finds the orphans of jobs
//	pipe_read_probe.go      detects a read of a job's input pipe
//	platform.go             the engine's access to the operating system
//	pollset.go              one epoll set for exits and quiet streams
//	proc.go                 reads /proc; signals by pidfd
//	process.go              a job as its owner holds it
//	process_table.go        shared readings of the process table
//	procfs_foreign.go       hides a /proc of another pid namespace
//	readend.go              a descriptor shared by reading goroutines
//	reaper.go               waits for all children
//	record.go               records for the journal
//	report.go               messages of a live shell on its status FIFO
//	restore.go              jobs of a dead engine
//	script.go               script files of jobs
//	script_recover.go       removes files that a dead engine left
//	shared.go               the goroutine that quiet streams share
//	shell_command.go        a command in a live shell
//	shell_command_stop.go   interrupts and stops such a command
//	shell_dir.go            the directory of a live shell
//	start_error.go          errors of a start
//	start_queue.go          the queue in front of the forks
//	stdio.go                pipes, terminal and logs of a job
//	stream.go               copies one output into its log
//	stream_fenced.go        a command's part of a terminal's output
//	sweep.go                kills jobs of dead engines in cgroups
//	sync.go                 waits for a pending interrupt of a live shell
//	sys.go                  the system calls, for faults in tests
//	sys_poll.go             numbers of older system calls
//	term_rest.go            TERM for processes outside the main groups
//	terminal.go             a job's terminal: size, modes, foreground
//	terminal_drain.go       drains a terminal
//	terminal_fence.go       cuts a command's output at its fence
//	time_budget.go          limits an activity to a part of the time
//	traceable.go            finds programs that a trace would take rights from
//	tree.go                 the interface that tracks a job's processes
//	tree_cgroup.go          by cgroup
//	tree_group.go           by process group
//	tree_shell_command.go   within a live shell's tree
//	tree_subreaper.go       by descent from this process
//	tty_read_probe.go       detects a read of a job's terminal
//	typed_line.go           lines and keys typed into a terminal
package engine
