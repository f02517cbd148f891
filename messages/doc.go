// Package messages defines every value that one part of troupe sends to another. Each
// file is one conversation: its head draws it and names its last message. Messages are
// plain values: ids and never actor PIDs, no functions, channels, contexts, files or
// pointers to shared state.
//
// A request is verb+noun (RunCommand), a fact is noun+participle (CommandFinished), a
// reply is a fact or a noun (OutputPage). Every request has one set of replies.
// Each state of its receiver answers it once.
//
//	file        between                       requests → replies and facts
//	run.go      client ↔ supervisor           RunCommand → CommandFinished | CommandPromoted | CommandRejected;
//	                                          AbandonRun
//	control.go  client ↔ command              StopCommand, PromoteCommand, SignalCommand, WriteInput, CloseInput,
//	                                          CheckInput, ResizeTerminal, ChangeDeadline, PauseOutput →
//	                                          Acknowledged | InputChecked | CommandStopped | InputWritten | CommandRejected
//	process.go  engine → command              ProcessStarted xor ProcessFailed … ProcessStopping … MainExited … ProcessExited or ProcessLost,
//	                                          OutputClosed, TreeEnded; OutputGrew, InputWaiting, LogBlocked, …
//	output.go   client ↔ sink                 ReadOutput, FollowOutput, ReadScreen → OutputPage | OutputGrew |
//	                                          OutputEnded | ScreenText | RequestRejected
//	terminal.go client ↔ command              ClaimTerminal, ReleaseTerminal → TerminalClaimed | Acknowledged | CommandRejected
//	session.go  client ↔ scope                OpenSession, CloseSession, ListSessions → SessionOpened | SessionClosed | SessionList
//	scope.go    client ↔ supervisor           OpenScope, CloseScope, ReleaseScope, ListScopes, HandOver → ScopeOpened | ScopeClosed | ScopeReleased |
//	                                          ScopeList | Acknowledged
//	list.go     client ↔ supervisor           ListJobs, FindJob, RemoveJob → JobList | JobFound | JobMissing | …
//	task.go     client ↔ supervisor           AnnounceTask, UpdateTask → Acknowledged | RequestRejected
//	facts.go    subscriber ↔ channel          Subscribe, Acknowledge, Unsubscribe → Subscribed, Notification…, FactsDropped, Unsubscribed
//	fault.go    host → supervisor             ReportFault → Acknowledged | JobMissing
//	notice.go   channel → notifiers           Delivery → Delivered; CommandNotified is the last message about a notice
//	wait.go     client ↔ waiter               WaitJobs → WaitEnded | RequestRejected; AbandonWait
//	node.go     root package ↔ supervisor     ShutdownNode → ShutdownDone
//
// The other files hold what the conversations share:
//
//	check.go        the checks of a run request
//	start_waits.go  what a queued job waits for
//	errors.go       error codes and constructors
//	id.go           names of jobs, sessions, scopes and channels, and their bounds
//	record.go       the record of a job
//	live.go         what the processes of a job do and use now
//	json.go         the record as JSON: how the values of each type are written and read
//	marshal_request.go  requests as JSON: strict, by tags, with rules for types
//	marshal_reply.go    replies as JSON
//	objects.go      the requests whose JSON has other fields
//	rerun.go        what a record keeps of its request, and the request that runs it again
//	outcome.go      outcomes, causes, exit statuses, survivors
//	plan.go         how a session is opened
//	proc_attr.go    what a process gets from its request: limits, nice value, CPUs
//	grants.go       the reply that each request has
package messages
