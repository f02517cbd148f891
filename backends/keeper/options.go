package keeper

import (
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/backends"
	"troupe/backends/engine"
	"troupe/messages"
	"troupe/spill"
)

// Names in the directory of a keeper.
const (
	lockName    = "keeper.lock"    // its lock is the lease: the holder is the keeper
	journalName = "keeper.journal" // facts that must outlive the keeper
	socketName  = "keeper.sock"
	errorsName  = "keeper.err"  // faults, and a fatal error of the runtime
	givenName   = "keeper.file" // path of a detached job's log
	markName    = "keeper.gaps" // gaps of that log
	guestName   = "guest.lock"  // held by a guest of a detached job
	logsName    = "logs"        // root of the store
	logsNode    = "keeper"      // node of the store; the same for the next keeper
)

// cannot reports a job that reaches no keeper.
func cannot(facts backends.FactHandler, why *messages.Error) backends.Process {
	backends.FailStart(facts, *why)
	return backends.NotStarted{Reason: "unborn"}
}

func refused(code messages.Code, reason, message, hint string) *messages.Error {
	return &messages.Error{Code: code, Reason: reason, Message: message, Hint: hint}
}

// Options configures a keeper. Dir is required.
type Options struct {
	// Dir holds the keeper's lease, journal, logs and socket. It is made if missing, and
	// refused if other users can access it.
	Dir string
	// Conn is one end of a SOCK_SEQPACKET pair; the first client has the other. nil: none.
	// The keeper closes it.
	Conn *os.File
	// Build names the version, for people.
	Build string
	// Alone: the keeper of one job. It ends when the job's end is recorded and no client is
	// connected.
	Alone bool
	// Grace is the grace of jobs when the keeper is stopped.
	Grace time.Duration
	// NoCgroup: the engine uses no cgroups.
	NoCgroup bool
	// SoftLimits is engine.Options.SoftLimits.
	SoftLimits map[int]uint64
	// OOMScoreAdj is engine.Options.OOMScoreAdj.
	OOMScoreAdj *int
	// Fault is called for faults that the keeper survives. nil: none.
	Fault func(job messages.UID, fault error)
	// Failpoint is engine.Options.Failpoint.
	Failpoint func(name string) error

	protocol int // of tests; 0: protocol
}

// Limits of a keeper.
const (
	// maxFacts bounds the facts that wait for a client before a resync. A resync brings about
	// three facts for each of at most 20,000 jobs, so it fits. maxFactBytes bounds their size,
	// which includes small outputs. Received facts are not sent again, so repeated resyncs
	// come to an end.
	maxFacts     = 1 << 16
	maxFactBytes = 24 << 20
	// finishedJobs is the default number of ended jobs with logs; the store bounds their bytes.
	finishedJobs = 10_000
	// inlineLog bounds, in bytes, a closed log that is sent with the job's end.
	inlineLog = 4 << 10
	// seqGap separates the numbers of a new keeper's facts from those that its predecessor
	// sent without a record.
	seqGap = 1 << 20
)

// ClientOptions configures a client. Dir is required.
type ClientOptions struct {
	Dir   string // of the keeper
	Build string // version of the client, for people

	// Program starts a keeper: path and arguments, to which --dir and --fd are added for
	// Main. nil: no keeper is started.
	Program []string
	// Env is the environment of the keeper, and of jobs without one. nil: the few variables
	// that it needs from this process.
	Env []string

	// Storage limits the logs. The keeper and its successors enforce it from the first hello.
	Storage spill.Limits

	// Fault is called for faults of the keeper or the connection. nil: none.
	Fault func(error)

	heartbeat time.Duration // of tests; 0: heartbeatEvery
	leave     bool          // do not continue a stopped keeper; for tests
}

// FleetOptions configures a Fleet. Root is required.
type FleetOptions struct {
	// Main is the keeper of jobs that are not detached. Without a Dir only detached jobs can
	// be started.
	Main ClientOptions
	// Root holds one directory for each keeper of a detached job. It is made when needed.
	Root string
	// Program, Env, Build and Fault are those of ClientOptions, for these keepers.
	Program []string
	Env     []string
	Build   string
	Fault   func(error)

	// Guest opens the job Only for a short time, and settles nothing. Another guest waits,
	// unless it is Urgent: then it replaces the present one.
	Guest, Urgent bool
	// Only is the single job of the fleet; "": all jobs.
	Only messages.UID
	// Fresh: the fleet starts jobs, and looks for none.
	Fresh bool
}

// Escapee is a process that has left the tree of its job.
type Escapee struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // its name, as ps shows it
}

// String returns "process 5 (sleep)".
func (e Escapee) String() string { return fmt.Sprintf("process %d (%s)", e.PID, e.Command) }

// signalReason is the reason of a report to the client that is no fault.
const signalReason = "signal"

// IsReport reports whether a fault of ClientOptions.Fault is none, but the report of a signal
// that the keeper got, or of a process that has left the tree of its job.
func IsReport(fault error) bool {
	return errors.Is(fault, &messages.Error{Code: messages.Refused, Reason: signalReason}) ||
		errors.Is(fault, &messages.Error{Code: messages.Refused, Reason: engine.ReasonEscaped})
}
