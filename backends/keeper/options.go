package keeper

import (
	"os"
	"time"

	"troupe/messages"
	"troupe/spill"
)

// Options are what a keeper stands on. Dir is required.
type Options struct {
	// Dir is the keeper's directory: its lease, its journal, its logs and its
	// socket. It is made if it is missing, and refused if it is not this user's
	// alone.
	Dir string
	// Conn is one end of a SOCK_SEQPACKET pair whose other end is the first
	// client's; nil: none. The keeper closes it.
	Conn *os.File
	// Build names the version, for people.
	Build string
	// Alone is the keeper of one job: it ends when that is over, its end is recorded,
	// and no client is connected.
	Alone bool
	// Grace is how long jobs have to end when the keeper is told to end.
	Grace time.Duration
	// NoCgroup has the engine do without.
	NoCgroup bool
	// Spared is the oom_score_adj that jobs get, if the keeper's own is lower.
	Spared *int
	// Fault hears of faults that the keeper survives. nil: nobody.
	Fault func(job messages.UID, fault error)
	// Failpoint is as the engine's.
	Failpoint func(name string) error
}

// The bounds of what a keeper holds.
const (
	// maxFacts is how many facts wait for a client before it has to ask anew: more than
	// its asking brings, which is some three of each job, of which there are 20,000 at
	// most. maxFactBytes is how large they may be together: small outputs come with them.
	// What was heard by then need not be asked for again, so that it comes to an end.
	maxFacts     = 1 << 16
	maxFactBytes = 24 << 20
	// finishedJobs is how many finished jobs have logs, if no client says otherwise;
	// their bytes are bounded by the store.
	finishedJobs = 10_000
	// inlineLog is how much of a closed log is told with the end of the job.
	inlineLog = 4 << 10
	// seqGap keeps the numbers of a new keeper's facts apart from those that its
	// predecessor told and did not record.
	seqGap = 1 << 20
)

// ClientOptions say which keeper a client wants. Dir is required.
type ClientOptions struct {
	Dir   string // of the keeper
	Build string // names the version of the client, for people

	// Program starts a keeper: the path of the program and its arguments. To these
	// are added --dir and --fd, which Main understands. nil: a keeper is only
	// found.
	Program []string
	// Env is the environment of the keeper, and so of jobs that have none. nil: as
	// little as it needs of this process's.
	Env []string

	// Storage bounds what the logs take. The keeper enforces it from the first hello
	// on, and its successors do.
	Storage spill.Limits

	// Fault hears of what goes wrong with the keeper or on the way to it. nil: nobody.
	Fault func(error)

	beat  time.Duration // of tests; 0: beatEvery
	leave bool          // a keeper that was stopped stays so; of tests
}

// FleetOptions say what a Fleet stands on. Root is required.
type FleetOptions struct {
	// Main is the keeper of the jobs that are not detached; without a Dir there is
	// none, and only detached jobs can be started.
	Main ClientOptions
	// Root is the directory of the keepers of detached jobs, one directory each. It
	// is made when it is needed.
	Root string
	// Program, Env, Build and Fault are as in ClientOptions, for those keepers.
	Program []string
	Env     []string
	Build   string
	Fault   func(error)

	// Guest looks after the job Only for a moment, and leaves it as it was: what it
	// hears is not settled. Another guest has to wait for its turn, unless it is
	// Urgent: then it takes the place of the one that is there.
	Guest, Urgent bool
	// Only is the one job of the fleet; "": all that are there.
	Only messages.UID
	// Fresh finds no jobs: it starts some.
	Fresh bool
}
