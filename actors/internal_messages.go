package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// What the actors say to one another and to nobody else. They may carry PIDs
// and logs; they never leave the process.

// noDeadLetter keeps a message out of the dead-letter log.
type noDeadLetter struct{}

// IgnoreDeadLetterLogging implements the library's opt-out.
func (noDeadLetter) IgnoreDeadLetterLogging() {}

// childStopped is a death certificate that waits its turn behind the child's last words.
type childStopped struct {
	noDeadLetter
	who *actor.PID
}

// routed carries a request down to the part of the tree it concerns; the sender
// is the client.
type routed struct {
	noDeadLetter
	to      messages.Address
	request any
}

// placement puts a job into a session: a new one to queue, or one that exists. The
// record is the session's own until it is told of; the request is never changed.
type placement struct {
	noDeadLetter
	job     *messages.Job        // State says how far it is
	run     *messages.RunCommand // nil once it has begun
	env     []string
	options *jobOptions
	// slotGranted says that it has its turn if it can begin at once. One that is Starting
	// was placed with it before, and its engine may have been asked.
	slotGranted bool
	inherited   bool          // its engine has it from before the tree: it is adopted, never begun
	recovery    *recoveryMeta // not changed; nil: its engine keeps nothing
	answered    int64         // of its terminal, or unknownAnswers
}

// recoveryMeta is what the node has the engine keep with a job, beside its record.
type recoveryMeta struct {
	noted       bool          // it has it already
	owed        bool          // a client waits for the end
	budget      time.Duration // in the foreground, where the request says none: the node sees to it
	key, digest string
	quotas      []messages.ScopeQuota // of the scopes on the way, from the top one down
}

// openScope makes a scope and its parents; it is routed.
type openScope struct {
	noDeadLetter
	quota messages.ScopeQuota
}

// openSession makes a session of the scope it is routed to, if it is not open:
// its jobs will be placed by further messages. held are those of a restart.
type openSession struct {
	noDeadLetter
	ask  messages.OpenSession
	held []backends.InventoryJob
	bare bool // its place has failed too often: it only holds what is there, without one
	// tentative is one that is made for a command. Of a live shell there is none before
	// that can run.
	tentative bool
}

// Refuse implements messages.Refusable: somebody may wait for it.
func (openScope) Refuse(err *messages.Error) any { return messages.OpenScope{}.Refuse(err) }

// Refuse implements messages.Refusable.
func (o openSession) Refuse(err *messages.Error) any { return o.ask.Refuse(err) }

// placeRejected says that the tree refused a job. One that the journal tells of already
// gets an end.
type placeRejected struct {
	noDeadLetter
	job messages.JobID
	err messages.Error
}

// The turn conversation: session --slotRequested--> … supervisor --routed{slotGranted}--> … session.
type (
	slotRequested struct {
		noDeadLetter
		job messages.JobID
	}
	slotReturned struct {
		noDeadLetter
		job messages.JobID
	}
	slotGranted struct {
		noDeadLetter
		job messages.JobID
	}
)

// recorded says that the journal holds the end of a job: its command may settle.
type recorded struct {
	noDeadLetter
	job       messages.JobID
	retired   bool // the last word about it, not only its result
	unwritten bool // the journal does not have it, and is not waited for: the engine is to keep it
}

// queryRecorded asks whether the journal holds the end of a job, for an actor that
// was put around it anew; the answer is recorded, now or when it is so.
type queryRecorded struct {
	noDeadLetter
	at messages.Address
}

// jobUpdate is what goes up the tree about a job: a fact, and the record as it stands now.
// Nobody changes that any more: its session and the node keep it, and it is there once.
type jobUpdate struct {
	noDeadLetter
	fact messages.CommandFact // its own record is empty
	job  *messages.Job
	// last says that this is the end of a job and its last word, where both are due:
	// each alone would take the whole way up, and be recorded and confirmed for itself.
	last bool
}

// querySettled asks a session to say of a job at once that it is settled: the node
// has forgotten it but for that.
type querySettled struct {
	noDeadLetter
	job messages.JobID
}

// settled says that the engine was told to forget jobs that are over. A session
// says it of some at a time: should it die before, they are placed again, and their
// engine no longer knows them.
type settled struct {
	noDeadLetter
	jobs []messages.JobID
}

// unsettled says that a job has let go of its actor and the engine keeps its end: the
// node settles it when the journal has that, or leaves it to the next one.
type unsettled struct {
	noDeadLetter
	job  messages.JobID
	proc backends.Process
	seq  uint64 // the engine's number of the last fact
}

// The hand-over conversation: supervisor --routed{letGo}--> session --yield--> command
// --ended--> session --letGone--> … supervisor.
type (
	yield      struct{ noDeadLetter }
	releaseJob struct {
		noDeadLetter
		job messages.JobID
	}
	jobReleased struct {
		noDeadLetter
		job messages.JobID
	}
)

// subtreeLost says that an actor of the tree died and what it held must be placed
// again: the jobs of a session, or of a scope with its sub-scopes.
type subtreeLost struct {
	noDeadLetter
	scope   messages.ScopePath
	session messages.SessionID // "": the whole scope
}

// rebuilt says to a scope, behind the placing, that what a dead child of it held
// was placed again.
type rebuilt struct{ noDeadLetter }

// quotaReleased says to a scope that a job of it is over which no child of it will tell of.
type quotaReleased struct {
	noDeadLetter
	job messages.JobID
}

// The record conversation: supervisor --record--> recorder --messages.FactRecorded--> supervisor.
// A journal that never waits is written without it: inlineJournal.
type (
	// recorderReady says that the recorder stands and what it has.
	recorderReady struct {
		noDeadLetter
		last messages.Seq
	}
	record struct {
		noDeadLetter
		fact messages.FactRecorded
		key  Key // of the job it is about, if it has one
	}
	// recordAside gives the recorder what the journal keeps beside the facts. It may
	// be lost with the recorder: then a subscriber is told again what it has
	// acknowledged, and a removed record is kept for longer.
	recordAside struct {
		noDeadLetter
		entry JournalEntry // without facts and keys
	}
	// recordFailed says that the journal does not take facts; the recorder tries
	// again by itself, unless it says that it never will. A nil error says that it
	// does again.
	recordFailed struct {
		noDeadLetter
		err   error
		never bool
	}
	// readFacts is asked by a channel through the supervisor; the recorder
	// answers its sender with factsRead.
	readFacts struct {
		noDeadLetter
		after messages.Seq
		limit int
	}
	factsRead struct {
		noDeadLetter
		after messages.Seq
		facts []messages.FactRecorded
		last  messages.Seq // of the journal at that time
		err   error
	}
)

// deliver gives a channel the facts that its filter lets through of those that were
// recorded above after, up to upTo, and how far its subscriber has come.
type deliver struct {
	noDeadLetter
	after, upTo messages.Seq
	facts       []messages.FactRecorded
	acked       messages.Seq
}

// The flush conversation: whoever is asked answers flushed when it owes nothing.
type (
	// flush asks a channel to give out what it has: its subscriber has acknowledged
	// all, or there is none.
	flush struct{ noDeadLetter }
	// flushSink asks a sink to answer all who wait for output.
	flushSink struct {
		noDeadLetter
		notStarted bool // the job leaves before it has begun, so no logs come
	}
	flushed struct{ noDeadLetter }
)

// abort asks a watch or a gather to answer its client that the node ends. It says
// ended as always: one party answers a client, so that none is answered twice.
type abort struct{ noDeadLetter }

// childDone is a child's last word to its parent: stop me. A channel, a watch, a
// gather, a command and an archive's sink say it.
type childDone struct {
	noDeadLetter
	who *actor.PID
}

// outputs tells a sink where to read. A sink that was restarted asks for it. The
// sink opens the logs itself: one that was on its way to a sink that ends would
// never be closed.
type (
	outputs struct {
		noDeadLetter
		open   func(messages.Stream) (spill.Log, error)
		of     []messages.Stream
		closed bool // no stream grows any more
		// terminal is that of the job; without an ID it has none.
		terminal backends.Terminal
	}
	outputsWanted struct{ noDeadLetter }
	// watchOutput asks the command for one OutputGrew above from.
	watchOutput struct {
		noDeadLetter
		stream messages.Stream
		from   int64
	}
	// outputClosed says that no byte follows on any stream.
	outputClosed struct{ noDeadLetter }
)

// streams are those that a job has.
func streams(job messages.Job) []messages.Stream {
	var all []messages.Stream
	for _, o := range job.Output {
		all = append(all, o.Stream)
	}
	return all
}

// sessionOpened says that a session is open, and as what: it would be made anew so.
type sessionOpened struct {
	noDeadLetter
	ask  messages.OpenSession
	fact messages.SessionOpened
}

// sessionStopped says that a session is closed and can be stopped.
type sessionStopped struct {
	noDeadLetter
	who  *actor.PID
	fact messages.SessionClosed
}

// scopeStopped says that a scope is closed and can be stopped.
type scopeStopped struct {
	noDeadLetter
	who  *actor.PID
	fact messages.ScopeClosed
}
