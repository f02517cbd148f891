package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// Messages between actors. They may carry PIDs and logs and never leave the process.

// noDeadLetter keeps a message out of the dead-letter log.
type noDeadLetter struct{}

// IgnoreDeadLetterLogging implements the library's opt-out.
func (noDeadLetter) IgnoreDeadLetterLogging() {}

// childStopped tells a parent that a child has stopped. The parent sends it to itself, so
// that it is handled after the child's remaining messages.
type childStopped struct {
	noDeadLetter
	who *actor.PID
}

// routed carries a request down the tree to its address. The sender is the client.
type routed struct {
	noDeadLetter
	to      messages.Address
	request any
}

// placement puts a job into a session: a new job to queue, or one that exists. The session
// may change the record until it reports it. It never changes the request.
type placement struct {
	noDeadLetter
	job     *messages.Record     // State is its phase
	run     *messages.RunCommand // nil after the start
	env     []string
	options *jobOptions
	// slotGranted says that the job has a start slot and may start at once. A job in Starting
	// had the slot at an earlier placement, so its engine may have started it.
	slotGranted bool
	held        bool          // it waits for startAllowed before it asks for a slot
	inherited   bool          // the engine had it before this tree: adopt it, never start it
	recovery    *recoveryMeta // read-only; nil: the engine stores nothing
	answered    int64         // lifecycle.Terminal.Answered, or unknownAnswers
}

// recoveryMeta is what the engine stores with a job, beside its record, for a restart.
type recoveryMeta struct {
	noted       bool          // the engine has it
	owed        bool          // a client waits for the end
	left        bool          // jobEntry.leftRunning
	budget      time.Duration // foreground budget that the supervisor keeps; 0: none
	key, digest string
	quotas      []messages.ScopeQuota // of the scopes above the job, the top one first
}

// openScope opens a scope and its parents. It is routed.
type openScope struct {
	noDeadLetter
	quota messages.ScopeQuota
}

// openSession opens a session in the scope it is routed to. Placements of its jobs follow.
type openSession struct {
	noDeadLetter
	ask  messages.OpenSession
	held []backends.InventoryJob // its live shells that the engine has after a restart
	bare bool                    // without an executor, after too many crashes
	// tentative says that the session is opened for a command. A live shell stays tentative
	// until its first command can run.
	tentative bool
}

// Refuse implements messages.Refusable: a client may wait.
func (openScope) Refuse(err *messages.Error) any { return messages.OpenScope{}.Refuse(err) }

// Refuse implements messages.Refusable.
func (o openSession) Refuse(err *messages.Error) any { return o.ask.Refuse(err) }

// placeRejected says that the tree has refused a job. The supervisor ends a job that the
// journal has.
type placeRejected struct {
	noDeadLetter
	job messages.JobID
	err messages.Error
}

// Start slots: session --slotRequested--> … supervisor --routed{slotGranted}--> … session. The
// session sends slotReturned for a slot that it cannot use.
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
	// startAllowed says that a held job waits for nothing but its start slot.
	startAllowed struct {
		noDeadLetter
		job messages.JobID
	}
	// neverStarts ends a held job that waits for what cannot come true.
	neverStarts struct {
		noDeadLetter
		err messages.Error
	}
)

// recorded tells a command that the journal has the end of its job, so that it may settle.
type recorded struct {
	noDeadLetter
	job       messages.JobID
	retired   bool // the last fact, not only the result
	unwritten bool // the journal does not have it and is not waited for: the engine keeps it
}

// queryRecorded asks whether the journal has the end of a job, for an actor that has adopted
// it. The answer is recorded, now or later.
type queryRecorded struct {
	noDeadLetter
	at messages.Address
}

// jobUpdate carries a fact about a job and its current record up the tree. No actor changes
// the record after that: session and supervisor share it.
type jobUpdate struct {
	noDeadLetter
	fact messages.CommandFact // with an empty record
	job  *messages.Record
	// last says that the fact is the end and the last fact in one. One message saves a second
	// way up, a second record and a second confirmation.
	last bool
}

// querySettled asks a session to report at once when a job is settled. The supervisor has
// removed the job and waits only for that.
type querySettled struct {
	noDeadLetter
	job messages.JobID
}

// settled says that the engine may forget jobs. A session reports several at a time. After
// a crash before the report they are placed again, and the engine does not know them.
type settled struct {
	noDeadLetter
	jobs []messages.JobID
}

// unsettled says that a job is over and the engine keeps its end. The supervisor settles it
// when the journal has the end, or leaves it to the next node.
type unsettled struct {
	noDeadLetter
	job  messages.JobID
	proc backends.Process
	seq  uint64 // the engine's number of the last fact
}

// Hand-over: supervisor --routed{releaseJob}--> session --yield--> command
// --childDone--> session --jobReleased--> … supervisor.
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

// subtreeLost says that a session or scope has crashed. The supervisor places its jobs
// again, with those of the sub-scopes.
type subtreeLost struct {
	noDeadLetter
	scope   messages.ScopePath
	session messages.SessionID // "": the whole scope
}

// rebuilt tells a scope that all jobs of a crashed child have been placed again.
type rebuilt struct{ noDeadLetter }

// quotaReleased tells a scope that a job is over although no child will report it.
type quotaReleased struct {
	noDeadLetter
	job messages.JobID
}

// Recording: supervisor --record--> recorder --messages.FactRecorded--> supervisor. A journal
// that never waits is written by inlineJournal instead.
type (
	// recorderReady says that the recorder has started, with the newest recorded number.
	recorderReady struct {
		noDeadLetter
		last messages.Seq
	}
	record struct {
		noDeadLetter
		fact    messages.FactRecorded
		key     Key     // of its job; zero: none
		request Request // of its job; zero: none
	}
	// recordAside gives the recorder what the journal keeps beside the facts. A crash of the
	// recorder may lose it: then a subscriber receives acknowledged facts again, and a removed
	// record is kept for longer.
	recordAside struct {
		noDeadLetter
		entry JournalEntry // without facts and keys
	}
	// recordFailed says that the journal takes no facts. The recorder retries unless never is
	// set. A nil error says that the journal takes facts again.
	recordFailed struct {
		noDeadLetter
		err   error
		never bool
	}
	// readFacts asks for recorded facts. A channel sends it to the supervisor; the recorder
	// answers the channel with factsRead.
	readFacts struct {
		noDeadLetter
		after messages.Seq
		limit int
	}
	factsRead struct {
		noDeadLetter
		after messages.Seq
		facts []messages.FactRecorded
		last  messages.Seq // the newest number in the journal
		err   error
	}
)

// deliver gives a channel the recorded facts above after, up to upTo, that pass its filter.
// acked is what its subscriber has acknowledged.
type deliver struct {
	noDeadLetter
	after, upTo messages.Seq
	facts       []messages.FactRecorded
	acked       messages.Seq
}

// Flushing: the receiver answers flushed when it owes no message.
type (
	// flush asks a channel to deliver all facts. The answer comes when the subscriber has
	// acknowledged all, or is gone.
	flush struct{ noDeadLetter }
	// flushSink asks a sink to answer all requests for output.
	flushSink struct {
		noDeadLetter
		notStarted bool // the job has not started, so there will be no logs
	}
	flushed struct{ noDeadLetter }
)

// abort asks a waiter, group stop or scope release to refuse its client: the node shuts
// down. It sends childDone as always. Only this actor answers the client, so once.
type abort struct{ noDeadLetter }

// childDone asks the parent to stop the child who. Channels, waiters, group stops, scope
// releases, commands and sinks of archives send it as their last message.
type childDone struct {
	noDeadLetter
	who *actor.PID
}

// outputs tells a sink where to read. A restarted sink asks for it by outputsWanted. The sink
// opens the logs itself: a log in a message to a stopped sink would never be closed.
type (
	outputs struct {
		noDeadLetter
		open   func(messages.Stream) (spill.Log, error)
		of     []messages.Stream
		closed bool // no stream grows any more
		// terminal of the job; without an ID the job has none.
		terminal backends.Terminal
	}
	outputsWanted struct{ noDeadLetter }
	// watchOutput requests one OutputGrew above the byte from.
	watchOutput struct {
		noDeadLetter
		stream messages.Stream
		from   int64
	}
	// outputClosed says that no more bytes follow on any stream.
	outputClosed struct{ noDeadLetter }
)

// streams returns the streams of a job.
func streams(job messages.Record) []messages.Stream {
	var all []messages.Stream
	for _, o := range job.Output {
		all = append(all, o.Stream)
	}
	return all
}

// sessionOpened says that a session is open. The supervisor opens it again with ask after a
// crash.
type sessionOpened struct {
	noDeadLetter
	ask  messages.OpenSession
	fact messages.SessionOpened
}

// sessionStopped says that a session is closed. Its parent stops it.
type sessionStopped struct {
	noDeadLetter
	who  *actor.PID
	fact messages.SessionClosed
}

// scopeStopped says that a scope is closed. Its parent stops it.
type scopeStopped struct {
	noDeadLetter
	who  *actor.PID
	fact messages.ScopeClosed
}
