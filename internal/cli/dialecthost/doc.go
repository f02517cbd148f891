// Package dialecthost is the daemon, or a node of this process, as the host of a dialect's
// jobs: for MCP servers, RPC servers and consoles.
//
//	host.go            requests to the daemon, also to the next one
//	lease.go           the scope lease of a client
//	open.go            finds or starts the host
//	owner.go           names this process for the tags of its jobs
//	session_files.go   the directories for the files of sessions
//	user_path.go       the PATH of the user's shell
package dialecthost
