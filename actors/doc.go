// Package actors is the supervisor tree of a node. Requests go down the tree, facts come up
// the tree. Each actor decides by a machine of package lifecycle and performs its effects.
//
//	supervisor                    admits, routes, numbers facts, sends replies, shuts down
//	├─ scope "main"               one owner; quotas; scopes nest: "main/agent-3"
//	│  └─ session "build"         a place to run: queue, executor, perhaps a live shell
//	│     └─ command j7           one job: its phase, foreground budget and deadline
//	│        └─ sink j7           its output: sizes, views, followers
//	├─ channel "client-7"         one subscriber: bounded outbox, resumed by number
//	├─ notifier "https://…"       delivers ends to a URL or a command
//	├─ waiter w3                  one blocking wait of a client, with probes below it
//	├─ group stop, scope release  a stop of several jobs, a client that leaves a scope
//	└─ recorder                   writes numbered facts to a journal that may wait for a disk
//
// Jobs belong to the engine. After a crash, a hand-over or a restart a new actor adopts
// them. Only a parent stops its children. See docs/design/actors.md.
//
// What the actors share:
//
//	deps.go                what the tree needs from outside: backends, journal, limits
//	spawn.go               starting the tree, Props, refusals, timers
//	strategies.go          kinds of actors, which of them are restarted
//	panic_guard.go         logs a crash and answers the client of the lost request
//	internal_messages.go   the messages between actors
//	reply_targets.go       the clients that wait for a job's machine
//
// The supervisor:
//
//	supervisor.go                    its state, its messages
//	supervisor_run.go                requests to run, start slots, facts about jobs
//	rerun_request.go                 a request that runs the command of a job again
//	supervisor_route.go              requests to jobs, jobs without an actor
//	named_jobs.go                    finding a job, which job has a name
//	replacement.go                   a run that waits for the end of the jobs of its name
//	supervisor_scopes.go             opening and closing of scopes and sessions, rebuilding
//	supervisor_crash_limit.go        sessions and scopes that crash too often
//	conditions.go                    jobs that wait for the ends of others, for locks and in queues
//	supervisor_shells.go             the number of live shells, idle shells
//	supervisor_session_ends.go       the list of sessions that ended last
//	supervisor_handover.go           moving a job to another scope
//	supervisor_scope_release.go      what a client leaves in a scope
//	supervisor_idempotency.go        idempotency keys, clients that return
//	supervisor_stop_retry.go         stops that are sent again
//	supervisor_journal.go            numbering and recording of facts
//	supervisor_inline_journal.go     a journal that never waits
//	supervisor_confirm.go            commands learn that their end is recorded
//	supervisor_settle.go             ends that the engine keeps
//	supervisor_settle_removed.go     removed jobs that are not settled yet
//	supervisor_channels.go           subscribers
//	supervisor_notices.go            notices of ends
//	supervisor_waits.go              blocking waits
//	supervisor_list.go               lists, removal of jobs, announced tasks
//	task_table.go                    tasks of hosts
//	supervisor_retention.go          how many records are kept, what is recorded beside facts
//	supervisor_restore.go            rebuilding the tree of a former node
//	supervisor_restore_shells.go     rebuilding sessions of live shells
//	restore_queued.go                queued jobs in the journal, and their start
//	supervisor_pending_ends.go       ends that the engine has and the journal has not
//	supervisor_shutdown.go           the ordered shutdown
//	job_entry.go                     what the supervisor knows of a job
//	job_options.go                   what a started job needs of its request
//	job_meta.go                      what the engine stores with a job for a restart
//	request_digest.go                whether two requests are the same
//	restore.go                       what a node restores from, what a journal can do
//	archive.go                       logs of jobs without an actor
//
// Scopes and sessions:
//
//	scope.go                  routing, quotas
//	scope_close.go            stopping all below, crashed children
//	scope_release.go          the answer to a client that leaves a scope
//	session.go                the jobs of a session
//	session_open.go           opening the executor
//	session_check.go          checks of a command that may wait for a disk
//	session_spec.go           the command as the executor gets it
//	session_route.go          requests to a session and its jobs
//	session_liveshell.go      directory, snapshot and limits of a live shell
//	session_unsupervised.go   jobs without an actor after too many crashes
//	session_close.go          closing a session
//
// Jobs and what clients do with them:
//
//	command.go            one job
//	command_queries.go    terminal sizes, terminal queries
//	command_queued.go     output and screen of a queued job
//	sink.go               the output of a job
//	sink_read.go          views of the output
//	sink_follow.go        followers of the output
//	sink_screen.go        the screen of a terminal
//	waiter.go             one blocking wait
//	input_probe.go        whether a job waits for input
//	output_probe.go       patterns and quiet in the output
//	pattern_scanner.go    a pattern in a stream
//	group_stop.go         a stop of several jobs
//	channel.go            facts for one subscriber
//	channel_backfill.go   facts that a channel reads from the journal
//	notifier_webhook.go   notices to a URL
//	notifier_command.go   notices to a command
//	recorder.go           facts for a journal that may wait
package actors
