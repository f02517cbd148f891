// Package keeper runs an engine in a process of its own, reached by a socket. The keeper is the
// parent of all jobs, writes their logs and stops them. Its Client, in the daemon, is a
// backends.Engine: jobs run on when the daemon is killed, and the next daemon adopts them.
//
// Serve is the keeper, Main its process. Open connects to the keeper of a directory, and starts
// one if there is none. A detached job has its own keeper, which ends with it: see Fleet.
//
//	client --hello--> keeper --hello--> client        versions, and numbers received
//	client --start, adopt, do, stop, …--> keeper      requests, one way
//	client <--facts-- keeper                          of bound jobs
//	client --log, inventory, close--> keeper          calls,
//	client <--answers-- keeper                        by number
//
// Bodies of messages and the entries of the journal are CBOR (internal/codec); hello and errors are
// JSON, which sides of any version read. A keeper of another protocol is refused, and can be ended.
//
// Both directions are numbered, and each side keeps messages until they are acknowledged, so a
// broken connection loses nothing. If too many messages wait, they are dropped and replaced by
// a resync; the client then repeats its requests.
//
// The journal outlives the keeper. The next keeper reports the status of jobs whose exit it
// has. It reports the others as lost, after it has killed what is left of them.
//
//	answer.go            handles a client's requests
//	call.go              requests of a client that wait for an answer
//	client.go            Client, the daemon's side
//	conn.go              a connection of datagrams
//	connect.go           finds, greets or starts a keeper
//	descriptors.go       descriptors for each job
//	dir.go               the keeper's directory, lease and socket
//	dir_removed.go       detects that the directory was removed
//	end_foreign.go       ends a keeper of another protocol
//	escaped.go          finds processes that have left their jobs
//	fd_reserve.go        descriptors reserved for clients
//	fd_wait.go           waits for events of one descriptor
//	fleet.go             Fleet: one keeper, and one for each detached job
//	frame.go             datagrams, messages and hello
//	health.go            Fleet's view of its main keeper
//	heartbeat.go         detects an unresponsive keeper
//	inspect.go           reads a keeper's files without asking it
//	job.go               the daemon's copy of a keeper job
//	journal.go           the journal's file: append, sync, compact
//	journal_record.go    the journal's records and table
//	kind.go              kinds and bodies of messages, and their encoding
//	leftovers.go         kills and reports what a dead keeper left
//	link.go              numbered messages over changing connections
//	main.go              the process of a keeper
//	only_job.go          the keeper of a single detached job
//	options.go           options, limits, and names of files
//	pack.go              large bodies in sealed memfds
//	persist.go           moves logs of settled jobs to files
//	pidfile.go           the pid file of a detached job
//	process.go           a job as its owner holds it; repeats requests
//	read_live.go         what the processes of jobs do and use now
//	reconnect.go         receives, reconnects, resumes
//	remote_log.go        reads logs through descriptors of the keeper
//	replace_idle.go      replaces an idle keeper of another build
//	saved_output.go      outputs of a dead keeper that the client still has
//	serve_conn.go        serves one connection: handshake and facts
//	server.go            Serve, the keeper
//	signals.go           refuses signals of jobs, and records the senders of others
//	small_outputs.go     small logs of jobs settled last
//	socket_recreate.go   has a keeper make its removed socket again
//	start_lock.go        keeps a starting daemon from jobs being started
//	start_timeout.go     fails starts that no keeper answers
//	states.go            sizes of many logs in one request
//	unsupported.go       placeholders for other systems
//	wait_end.go          waits for the end of a detached job
package keeper
