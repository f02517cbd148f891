package messages

import "time"

// The wait conversation: one AwaitJobs, exactly one answer.
//
//	client --AwaitJobs--> supervisor (spawns a watch)
//	client <--AwaitEnded | RequestRejected-- watch

// AwaitJobs asks to be told when any or all of Jobs meet Condition.
type AwaitJobs struct {
	quiet
	Jobs      []JobID
	Any       bool // one is enough
	Condition Condition
	Timeout   time.Duration // 0: none
}

// ConditionKind chooses what is waited for.
type ConditionKind string

// The kinds.
const (
	UntilExit    ConditionKind = "exit"    // the job has finished; the default
	UntilPattern ConditionKind = "pattern" // its output matches Pattern, at once if it did already
	UntilPort    ConditionKind = "port"    // something listens on Port
	UntilQuiet   ConditionKind = "quiet"   // it has written nothing for Quiet
	UntilInput   ConditionKind = "input"   // it waits for input
)

// Condition is what a job must do for a wait to end. A job that finished
// without doing it can no longer.
type Condition struct {
	Kind    ConditionKind
	Pattern string // RE2, over the bytes of Stream
	Stream  Stream
	Port    int
	Quiet   time.Duration
}

// Bounds of a wait.
const (
	MaxAwaited = 1024 // jobs
	MaxPattern = 4096 // bytes
)

// AwaitEnded answers AwaitJobs.
type AwaitEnded struct {
	quiet
	Satisfied  bool
	TimedOut   bool
	Impossible bool // it can no longer be satisfied
	Met        []JobID
	Jobs       []Job // all of them, as they stand
}

// AwaitReply is what a client may receive in answer to AwaitJobs.
type AwaitReply interface{ awaitReply() }

func (AwaitEnded) awaitReply()      {}
func (RequestRejected) awaitReply() {}

// Refuse implements Refusable.
func (AwaitJobs) Refuse(e *Error) any { return RequestRejected{Err: *e} }
