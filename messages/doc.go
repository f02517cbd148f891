// Package messages is the vocabulary of troupe: every value one part says to
// another, and nothing else. Each file is one conversation; its head draws it
// and names its last message.
//
// Grammar: a request is verb+noun (RunCommand), a fact is noun+participle
// (CommandFinished), a reply is a fact or a noun (OutputPage). Every request has
// one sealed set of replies and every state of its receiver answers it, once.
// Messages are plain values: ids and never actor PIDs, no functions, channels,
// contexts, files or pointers to shared state.
//
//	file        who speaks                    requests → replies and facts
//	run.go      client ↔ supervisor           RunCommand → CommandFinished | CommandPromoted | CommandRejected;
//	                                          AbandonRun
//	control.go  client ↔ command              StopCommand, PromoteCommand, SignalCommand, WriteInput, CloseInput,
//	                                          CheckInput, ResizeTerminal, ChangeDeadline, PauseOutput →
//	                                          Acknowledged | InputChecked | CommandStopped | InputWritten | CommandRejected
//	process.go  engine → command              ProcessStarted xor ProcessFailed … MainExited … ProcessExited or ProcessLost,
//	                                          OutputClosed, TreeEnded; OutputGrew, InputWaiting, LogBlocked, …
//	output.go   client ↔ sink                 ReadOutput, FollowOutput, ReadScreen → OutputPage | OutputGrew |
//	                                          OutputEnded | ScreenText | RequestRejected
//	terminal.go client ↔ command              ClaimTerminal, ReleaseTerminal → TerminalClaimed | Acknowledged | CommandRejected
//	session.go  client ↔ scope                OpenSession, CloseSession, ListSessions → SessionOpened | SessionClosed | SessionList
//	scope.go    client ↔ supervisor           OpenScope, CloseScope, ReleaseScope, ListScopes, HandOver → ScopeOpened | ScopeClosed | ScopeReleased |
//	                                          ScopeList | Acknowledged
//	list.go     client ↔ supervisor           ListJobs, FindJob, RemoveJob, AnnounceTask, UpdateTask → JobList | JobFound | JobMissing | …
//	notify.go   client ↔ channel              Subscribe, Acknowledge, Unsubscribe → Subscribed, Notification…, FactsDropped, Unsubscribed
//	notice.go   channel → webhook, errand     Delivery → Delivered; CommandNotified is the last word about a notice
//	wait.go     client ↔ watch                WaitJobs → WaitEnded | RequestRejected; AbandonWait
//	node.go     the root ↔ supervisor         ShutdownNode → ShutdownDone
//
// job.go holds the one record of a job that all of them show; outcome.go how a
// job can end; codes.go the errors; ids.go the names.
package messages
