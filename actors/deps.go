package actors

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/workers"
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// Deps is what the tree needs from below it; the root package joins them. All
// of it is safe for concurrent use. Nothing of it waits but Journal, Logs.Remove
// and the Check of a shell, for each of which the tree keeps out of the way.
type Deps struct {
	Backends map[string]backends.Backend // by name; DefaultBackend must be there
	Journal  Journal
	Logs     Logs
	// Engine is what all of Backends stand on, to stop what a failing place holds;
	// nil: what such a place holds cannot be reached.
	Engine backends.Engine
	// Past is what the tree begins with.
	Past RestoreState
	Log  *slog.Logger
	// Ports tells when jobs listen; nil: nobody can wait for that.
	Ports Ports

	// Screens draw what the terminals of jobs show; nil: no screen can be read, and what
	// is asked of a terminal that no client shows is not answered.
	Screens Screens

	// NewUID makes the ULID of a job.
	NewUID func() messages.UID
	// Environment makes the whole environment of a job, in which it finds self, and names
	// what it left out.
	Environment func(r messages.RunCommand, self JobEnv) (env, dropped []string, err *messages.Error)

	// Dir is where a job runs when neither it nor its session says.
	Dir string

	// JobPrefix begins the short ids of jobs; "": "j".
	JobPrefix string

	// Webhooks deliver notices to URLs; nil: requests that want it are refused.
	Webhooks Webhooks

	Limits     Limits
	Middleware []actor.ReceiverMiddleware // behind the guard: traces, faults
	// Failed hears that the supervisor itself failed: the node is over. It must not wait.
	Failed func(error)
	// Stopped hears that no actor of the tree is left. It must not wait.
	Stopped func()
	// Unhandled hears of messages that no actor should have got; nil: they are logged.
	Unhandled func(who string, message any)

	// Workers are the goroutines of all actors; nil: some of the tree's own.
	Workers *Workers

	looks chan struct{} // those under way at commands; see look
}

// Workers do the work of one tree. Who makes work for it by telling facts may join
// them and help with it.
type Workers = workers.RunQueue

// DefaultBackend runs the commands of sessions that name no other.
const DefaultBackend = "pipe"

// JobEnv is what a job is told of itself in its environment.
type JobEnv struct {
	Scope   messages.ScopePath
	Session messages.SessionID
	Job     messages.JobID
	UID     messages.UID
}

// Limits bound a node. The zero value means the defaults.
type Limits struct {
	Starts    int           // at a time; 0: two, and of a node two for each CPU
	Unstarted int           // 0: MaxUnstarted
	Finished  int           // records kept; 0: MaxFinished
	Age       time.Duration // … since the end of their jobs; 0: any
	LogBytes  int64         // … of all their outputs together; 0: any
	Channels  int           // 0: MaxChannels
	Watches   int           // waits, and as many stops of many jobs; 0: MaxWatches
	Shells    int           // live ones: for one more the one goes that was used the longest ago and is idle; 0: any
	ShellIdle time.Duration // a live shell that nobody uses for so long is closed; 0: none is
}

// The defaults of Limits, and what they protect.
const (
	MaxUnstarted = 1024 // a start is a fork: more waiting only means longer waits
	MaxFinished  = 1000 // records and memfds of an in-process node
	MaxChannels  = 256
	MaxWatches   = 1024
)

// Logs opens the logs of jobs that have no actor any more, and lets go of those
// that are forgotten.
type Logs interface {
	Open(id string, stream uint8) (spill.Log, error)
	Remove(id string) error
}

// Ports tells when a job does what a condition says of a port: found is called
// once, and not behind the return of stop. Neither call waits.
type Ports interface {
	Await(job messages.Job, c messages.Condition, found func()) (stop func())
}

// Journal keeps the numbered facts. Its calls may wait for a disk; only the
// recorder makes them, or, of one that is Quick, the supervisor. An error that is a
// *messages.Error with a hint is its last word: nobody tries again.
type Journal interface {
	// Last is the number of the newest fact, 0 if there is none.
	Last() (messages.Seq, error)
	// Append records facts under their numbers; those it has already are left
	// as they are.
	Append(facts []messages.FactRecorded) error
	// Read gives at most limit facts above after, oldest first. Numbers that are
	// missing before the first of them are no longer held.
	Read(after messages.Seq, limit int) ([]messages.FactRecorded, error)
}

// NonBlocking is what a Journal may say of itself: that its calls never wait, as one
// in memory. The supervisor then makes them itself.
type NonBlocking interface{ Quick() bool }

// clock is the actors' time: the runtime's, which synctest makes virtual.
func clock() time.Time { return time.Now() }

func (d *Deps) prefix() string {
	if d.JobPrefix == "" {
		return "j"
	}
	return d.JobPrefix
}
