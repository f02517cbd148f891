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

// Deps is what the tree needs from outside. All of it is safe for concurrent use. Only
// Journal, Logs.Remove and the Check of an executor may wait; no actor in the run queue calls
// them.
type Deps struct {
	Backends map[string]backends.Backend // by name, with DefaultBackend
	Journal  Journal
	Logs     Logs
	// Engine is the engine of all Backends. It stops jobs whose executor fails; nil: such jobs
	// cannot be stopped.
	Engine backends.Engine
	// Past is the state to restore.
	Past RestoreState
	Log  *slog.Logger
	// Ports reports when jobs listen; nil: waits for a port are refused.
	Ports Ports

	// Screens draw the terminals of jobs; nil: no screen can be read, and troupe answers no
	// terminal queries.
	Screens Screens

	// NewUID makes the ULID of a job.
	NewUID func() messages.UID
	// Environment makes the environment of a job, with the variables of self. dropped names
	// the variables that it left out.
	Environment func(r messages.RunCommand, self JobEnv) (env, dropped []string, err *messages.Error)

	// Dir is the directory of jobs if neither they nor their session name one.
	Dir string

	// JobPrefix is the prefix of short job ids; "": "j".
	JobPrefix string

	// Queues are the places of the named queues in which jobs wait.
	Queues map[string]int

	// Flags are those of each new job.
	Flags []messages.Flag

	// Webhooks deliver notices to URLs; nil: requests with a URL are refused.
	Webhooks Webhooks

	Limits     Limits
	Middleware []actor.ReceiverMiddleware // inside the guard: traces, faults
	// Failed is called when the supervisor crashes: the node is over. It must not wait.
	Failed func(error)
	// Stopped is called when no actor of the tree is left. It must not wait.
	Stopped func()
	// Unhandled takes messages without a case in their receiver; nil: they are logged.
	Unhandled func(who string, message any)

	// Workers run all actors; nil: the tree makes its own.
	Workers *Workers

	looks chan struct{} // a token for each running check; see startCheck
}

// Workers run the actors of one tree. A goroutine that sends facts may join them.
type Workers = workers.RunQueue

// DefaultBackend runs the commands of sessions that name no other.
const DefaultBackend = "pipe"

// JobEnv identifies a job in its environment.
type JobEnv struct {
	Scope   messages.ScopePath
	Session messages.SessionID
	Job     messages.JobID
	UID     messages.UID
}

// Limits bound a node. The zero value means the defaults.
type Limits struct {
	Starts    int           // start slots; 0: two, for a node two per CPU
	Unstarted int           // admitted jobs that have not started; 0: MaxUnstarted
	Finished  int           // kept records; 0: MaxFinished
	Age       time.Duration // of kept records, since the end of the job; 0: any
	LogBytes  int64         // of all kept outputs; 0: any
	Channels  int           // 0: MaxChannels
	Watches   int           // waits, and as many stops of several jobs; 0: MaxWatches
	Shells    int           // live shells; another one closes the least recently used idle shell; 0: any
	ShellIdle time.Duration // idle time after which a live shell is closed; 0: never
}

// The defaults of Limits, and what they protect.
const (
	MaxUnstarted = 1024 // forks: more waiting jobs only wait longer
	MaxFinished  = 1000 // records and memfds of an in-process node
	MaxChannels  = 256
	MaxWatches   = 1024
)

// Logs opens the logs of jobs without an actor and removes those of removed jobs.
type Logs interface {
	Open(id string, stream uint8) (spill.Log, error)
	Remove(id string) error
}

// Ports waits until a job meets a condition about a port. It calls found once, and not after
// stop has returned. Neither call waits.
type Ports interface {
	Await(job messages.Record, c messages.Condition, found func()) (stop func())
}

// Journal keeps the numbered facts. Its calls may wait for a disk, so only the recorder makes
// them; the supervisor calls a NonBlocking journal itself. A *messages.Error with a hint is
// permanent and not retried.
type Journal interface {
	// Last returns the number of the newest fact, 0 if there is none.
	Last() (messages.Seq, error)
	// Append records facts under their numbers. It skips facts that it has.
	Append(facts []messages.FactRecorded) error
	// Read returns at most limit facts above after, oldest first. The journal no longer has
	// the numbers before the first of them.
	Read(after messages.Seq, limit int) ([]messages.FactRecorded, error)
}

// NonBlocking is implemented by a Journal that may be in memory. If Quick returns true, its
// calls never wait and the supervisor makes them itself.
type NonBlocking interface{ Quick() bool }

// clock returns the time of the actors: the runtime's, which synctest makes virtual.
func clock() time.Time { return time.Now() }

func (d *Deps) prefix() string {
	if d.JobPrefix == "" {
		return "j"
	}
	return d.JobPrefix
}
