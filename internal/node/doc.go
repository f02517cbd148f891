// Package node is a supervisor tree in this process: it makes the parts, opens the tree, sends
// it requests and reads its outputs. A daemon and a program that embeds troupe run one node each.
//
// Files:
//
//	arrivals.go         when the bytes of a stream arrived
//	attach.go           attachments to jobs
//	ask.go              sends a request to the tree and waits for its reply
//	check.go            what is wrong with Options
//	dialect_host.go     the node as the host of dialects
//	failures.go         middleware that counts failures of actors
//	full_screen.go      which terminals show the alternate screen
//	host.go             the node as a host.Host
//	keys.go             bytes of keys and pastes for a job's terminal
//	node.go             Node, Open and Shutdown
//	options.go          Options, and the parts of a node made from them
//	output.go           Follower, views and the screen
//	output_keep.go      kept files, and views of finished jobs
//	output_order.go     output order, and the byte at a time
//	read_both.go        the end of stdout and stderr as one page
//	read_live.go        what the processes of jobs do and use now
//	request_clone.go    copies requests, so that callers may reuse their slices
//	restore.go          the state before the node: journal and inventory
//	run.go              runs, finds, lists, stops and measures jobs
//	search.go           one page of the lines that match a pattern
//	shell_snapshots.go  shell snapshots of a node's users
//	subscribe.go        subscriptions to facts
package node
