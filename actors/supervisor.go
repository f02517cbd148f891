package actors

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// supervisor is the top of the tree: it admits, knows every job, routes what
// concerns one, numbers the facts that come up, and owes the replies that take
// time (runs, closings), so that no client waits for ever for an actor that
// died. It speaks with the root (above), the top scopes, the recorder, the
// channels, the watches and gathers, and who tells of ends (below), and with those
// who ask.
type supervisor struct {
	deps  *Deps
	limit Limits
	phase phase

	count          int // of job ids
	jobs           map[messages.JobID]*jobEntry
	byUID          map[messages.UID]*jobEntry
	byKey          map[idempotencyKey]messages.JobID
	archived       []messages.JobID // oldest first
	awaitingNotice []messages.JobID // over and out of bounds, kept until their ends are told; oldest first
	forgotten      []removedJob
	settling       map[messages.JobID]*jobEntry    // forgotten, but not yet by their engine
	unsettledEnds  map[messages.JobID]unsettledEnd // over, and with the engine until they are recorded
	archives       map[messages.JobID]*actor.PID
	admission      lifecycle.Admission

	scopes       map[string]*actor.PID // the top ones
	scopeQuotas  map[messages.ScopePath]messages.ScopeQuota
	scopesOpened map[messages.ScopePath]bool // their opening
	sessions     map[messages.Address]messages.SessionInfo
	sessionSpecs map[messages.Address]messages.OpenSession // as what they were opened
	closings     map[messages.Address]*pendingClose
	handovers    map[messages.JobID]*handover
	crashCounts  map[messages.Address]*crashes // of the actors of sessions

	shells shells

	recorder        *actor.PID     // of a journal that may wait
	inlineJournal   *inlineJournal // or one that never does, which is written here
	seq             messages.Seq
	unwritten       []messages.FactRecorded
	deferredReplies []deferredReply // in this turn
	journalErr      *messages.Error // the journal takes no facts: no new work
	journalDead     bool            // nor will it ever, though its recorder lives
	channels        channels
	// notifyTargets are the commands and URLs that are told of ends, or will be.
	notifyTargets map[string]*notifyTarget
	waiters       map[string]*waiterEntry // by PID
	tasks         map[messages.TaskID]messages.Task

	logBytes        int64                                   // that archived jobs have written
	pendingEntry    JournalEntry                            // to be recorded beside the facts
	pendingAcks     JournalEntry                            // … with the next of them, or soon
	pendingRemovals []removal                               // of jobs whose end is being recorded
	deferred        []deferredRequest                       // requests that came before the journal was read, or the ends that are due
	endsPending     int                                     // ends that the engine has and the node has not heard
	stopRetries     map[messages.JobID]messages.StopCommand // stops that nobody waits for
	shutdown        *shutdown
	timers          []scheduler.CancelFunc

	confirmTimer   scheduler.CancelFunc // of the next look at ends that closings wait for
	removeTimer    scheduler.CancelFunc // of the removal of forgotten outputs
	trimTimer      scheduler.CancelFunc // of the next look at how old records are
	ackTimer       scheduler.CancelFunc // of the recording of acknowledgements
	stopRetryTimer scheduler.CancelFunc // of the next look at stops that nobody waits for
	retrying       scheduler.CancelFunc // of the next try of a quick journal that fails
}

// phase is where the node stands.
type phase uint8

const (
	opening phase = iota // the journal is being read
	open
	closingScopes
	endingWaits
	recordingRest
	flushingRest
	down
)

// deferredRequest is a request that came before what it is for: the node is not open yet, or
// the job is on its way.
type deferredRequest struct {
	request any
	sender  *actor.PID
}

// maxEarly bounds the requests that wait for one thing.
const maxEarly = 1024

func newSupervisor(d *Deps) *supervisor {
	return &supervisor{
		deps: d, limit: d.Limits.withDefaults(),
		jobs: map[messages.JobID]*jobEntry{}, byUID: map[messages.UID]*jobEntry{}, byKey: map[idempotencyKey]messages.JobID{},
		archives: map[messages.JobID]*actor.PID{}, scopes: map[string]*actor.PID{},
		scopeQuotas: map[messages.ScopePath]messages.ScopeQuota{}, scopesOpened: map[messages.ScopePath]bool{}, sessions: map[messages.Address]messages.SessionInfo{}, sessionSpecs: map[messages.Address]messages.OpenSession{},
		closings: map[messages.Address]*pendingClose{}, handovers: map[messages.JobID]*handover{}, crashCounts: map[messages.Address]*crashes{},
		channels: newChannels(), notifyTargets: map[string]*notifyTarget{}, waiters: map[string]*waiterEntry{}, tasks: map[messages.TaskID]messages.Task{},
		shells: shells{uses: map[messages.Address]*shellUse{}},
	}
}

// Receive implements actor.Actor.
func (s *supervisor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case *actor.Stopping:
		s.stopTimers()
	case *actor.Stopped:
		s.deps.stopped(s.forgotten)
	case *actor.Terminated:
		ctx.Send(ctx.Self(), childStopped{who: msg.Who}) // behind the child's last words
	case childStopped:
		s.lost(ctx, msg.who)
	case jobUpdate:
		s.applyUpdate(ctx, msg)
	case messages.Refusable:
		s.request(ctx, msg)
	case slotRequested, slotReturned, placeRejected, jobReleased, notMovable, openFailed, subtreeLost, sessionOpened, scopeStopped, queryRecorded, settled, unsettled, messages.Fact:
		s.fromBelow(ctx, msg)
	case messages.FactRecorded, recorderReady, recordFailed, recordAgain, readFacts, messages.Acknowledge, flushed:
		s.journal(ctx, msg)
	default:
		s.housekeeping(ctx, msg)
	}
	s.recordNow(ctx)
	s.flushReplies(ctx)
	s.flushEntry(ctx)
}

func (s *supervisor) start(ctx actor.Context) {
	s.admission = lifecycle.NewAdmission(s.limit.Starts, s.limit.Unstarted)
	if j, ok := s.deps.Journal.(NonBlocking); ok && j.Quick() {
		s.inlineJournal = &inlineJournal{Journal: s.deps.Journal, log: s.deps.Log}
		s.recordAgain(ctx)
		return
	}
	s.recorder = ctx.SpawnPrefix(recorderProps(s.deps), kindRecorder)
}

// request takes what a client asks, in every phase.
func (s *supervisor) request(ctx actor.Context, msg messages.Refusable) {
	tooEarly := s.phase == opening || s.endsPending > 0 && ctx.Sender() != nil // what the node asks itself can be done
	switch {
	case tooEarly && len(s.deferred) < maxEarly:
		s.deferred = append(s.deferred, deferredRequest{msg, ctx.Sender()})
		return
	case tooEarly:
		refuse(ctx, msg, &messages.Error{Code: messages.Busy, Message: "the node is still restoring its jobs", Hint: "try again soon"})
		return
	}
	switch r := msg.(type) {
	case messages.RunCommand:
		s.run(ctx, r)
	case messages.ListJobs, messages.FindJob, messages.RemoveJob, messages.AnnounceTask, messages.UpdateTask,
		messages.ListSessions, messages.ListScopes:
		s.list(ctx, r)
	case messages.OpenSession, messages.OpenScope, messages.CloseSession, messages.CloseScope, messages.ReleaseScope, messages.HandOver:
		s.arrange(ctx, r)
	case messages.Subscribe, messages.Unsubscribe:
		s.subscribe(ctx, r)
	case messages.WaitJobs:
		s.await(ctx, r)
	case messages.ShutdownNode:
		s.shutDown(ctx, r)
	case messages.Addressed:
		s.address(ctx, r)
	default:
		unhandled(ctx, s.deps)
	}
}

// fromBelow hears the tree about what is no job's fact.
func (s *supervisor) fromBelow(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case slotRequested:
		s.turnAsked(ctx, m.job)
	case slotReturned:
		s.turnReturned(ctx, m.job)
	case placeRejected:
		s.unplaced(ctx, m)
	case jobReleased:
		s.letGone(ctx, m)
	case notMovable:
		s.endHandover(ctx, m.job, &m.err)
	case openFailed:
		s.unopened(m.at)
	case subtreeLost:
		s.rebuild(ctx, m)
	case sessionOpened:
		s.sessionUp(ctx, m)
	case scopeStopped:
		s.scopeDown(ctx, m)
	case queryRecorded:
		s.recordAsked(ctx, m)
	case settled:
		for _, id := range m.jobs {
			s.settled(ctx, id)
		}
	case unsettled:
		s.unsettled(ctx, m)
	case messages.Fact:
		s.sessionFact(ctx, m)
	}
}

// housekeeping hears children that are done, and this actor's own timers.
func (s *supervisor) housekeeping(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case childDone:
		s.childEnded(ctx, m.who)
	case shutdownTimeout:
		s.onShutdownTimeout(ctx, m)
	case confirmEnds:
		s.confirmTimer = nil
		s.confirmLate(ctx)
	case removeTick:
		s.removeTimer = nil
		s.removeForgotten()
	case trimTick:
		s.trimTimer = nil
		s.trim(ctx)
	case endsTimeout:
		s.endsLate(ctx)
	case clientTimeout:
		s.clientLate(ctx, m.job)
	case budgetTimeout:
		s.budgetLate(ctx, m.job)
	case stopRetryTick:
		s.onStopRetryTick(ctx)
	case idleTick:
		s.idle(ctx)
	case acksTick: // maybe of a timer that ran out as a fact took the acknowledgements along: another may run
		s.withAcks()
	case messages.AbandonRun:
		s.withdraw(ctx, m)
	case messages.AbandonWait:
		s.withdrawWait(ctx)
	case noticeResult:
		s.noticed(ctx, m)
	case noticesDropped:
		s.dropped(ctx, m)
	case watchOutput, outputsWanted:
		s.serveArchive(ctx, msg)
	default:
		unhandled(ctx, s.deps)
	}
}

// childEnded stops a child that has said its last word.
func (s *supervisor) childEnded(ctx actor.Context, who *actor.PID) {
	delete(s.waiters, who.Id)
	if id := s.channels.remove(who); id != "" {
		s.queueEntry(JournalEntry{Left: []messages.ChannelID{id}})
	}
	for id, pid := range s.archives {
		if pid.Equal(who) {
			delete(s.archives, id)
		}
	}
	poisonChild(ctx, who)
	s.shutdownStep(ctx)
}

// lost hears that a child is gone, and asks whether that was expected.
func (s *supervisor) lost(ctx actor.Context, who *actor.PID) {
	if s.recorder != nil && s.recorder.Equal(who) {
		s.recorderLost(ctx)
		return
	}
	for name, pid := range s.scopes {
		if pid.Equal(who) {
			delete(s.scopes, name)
			s.scopeLost(ctx, messages.ScopePath(name))
			return
		}
	}
	s.watchLost(ctx, who)
	s.channelLost(ctx, who)
	s.notifierLost(ctx, who)
	for id, pid := range s.archives {
		if pid.Equal(who) {
			delete(s.archives, id)
		}
	}
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		value *int
		usual int
	}{{&l.Starts, 2}, {&l.Unstarted, MaxUnstarted}, {&l.Finished, MaxFinished}, {&l.Channels, MaxChannels}, {&l.Watches, MaxWatches}} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	return l
}
