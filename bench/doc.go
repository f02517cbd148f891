// Bench measures troupe beside what a good Go programmer would write without it. It
// prints ours ÷ raw against the targets of docs/performance.md.
//
//	make bench                        all scenarios
//	BENCH=oneshot,spill make bench    some of them
//	BENCH_ROUNDS=15 make bench        more rounds
//	BENCH_JSON=file make bench        also the figures of every round
//	BENCH_PROFILE=dir make bench      a CPU profile of each side
//
// Each side of a scenario runs in a process of its own, and the sides take turns: ours,
// raw, ours, raw. An absolute figure of a noisy machine means little; the ratio of two
// figures taken side by side is stable. The exit status is 0 whatever the figures are,
// 2 for a wrong flag, 130 after an interrupt. Nothing remains after a run.
//
//	bare_crowd.go      many processes with a cgroup and a pipe each
//	bench.go           the driver: sides and rounds of a scenario
//	busy.go            many busy live shells, both sides
//	content.go         a large random output
//	daemon.go          this program as a daemon, and its client
//	keeper.go          this program as a keeper
//	main.go            flags and roles; outside of Linux an error
//	median.go          medians, percentiles, rates
//	our_adopt.go       adoption after the death of a daemon
//	our_agent.go       commands through troupe mcp
//	our_commands.go    single commands through a node or a daemon
//	our_crowd.go       many live jobs; many process trees
//	our_history.go     many ended jobs
//	our_node.go        a node and requests to it
//	our_notices.go     latency of notices; queries
//	our_oneshots.go    single jobs, bursts, a large output
//	our_shell.go       a live shell
//	our_terminals.go   jobs on terminals
//	our_top.go         troupe top over many live jobs
//	our_wake.go        from an exit until a line of troupe events
//	peer.go            a worker, seen from the driver
//	program.go         the program troupe: whole verbs, as a shell runs them
//	raw_asks.go        queries to a goroutine
//	raw_crowd.go       many processes
//	raw_exec.go        os/exec: single commands, bursts, a large output
//	raw_flood.go       output of a terminal
//	raw_notices.go     latency of pidfds
//	raw_shell.go       a bash with markers
//	raw_trees.go       process trees in cgroups
//	report.go          rows, verdicts and the JSON report
//	scenarios.go       scenarios, targets and sizes
//	stamp.go           a program that stamps its exit
//	status.go          figures from /proc, cgroups
//	tree.go            this program as a process tree
//	worker.go          this program as a worker
package main
