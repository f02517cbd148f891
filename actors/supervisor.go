package actors

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// supervisor is the top of the tree. It admits and knows every job, routes requests and
// numbers facts. It sends the replies that take time (runs, closings), so that a crash below
// loses none. Its children are the top scopes, recorder, channels, waiters, group stops, scope
// releases, notifiers and archives.
type supervisor struct {
	deps  *Deps
	limit Limits
	phase phase

	count          int // of job ids
	jobs           map[messages.JobID]*jobEntry
	byUID          map[messages.UID]*jobEntry
	byName         map[string][]*jobEntry // jobs with a name
	byKey          map[idempotencyKey]messages.JobID
	archived       []messages.JobID // oldest first
	awaitingNotice []messages.JobID // over the limits, kept until their notices are done; oldest first
	forgotten      []removedJob
	settling       map[messages.JobID]*jobEntry    // removed here, not settled with the engine
	unsettledEnds  map[messages.JobID]unsettledEnd // over, kept by the engine until recorded
	archives       map[messages.JobID]*actor.PID
	admission      lifecycle.Admission
	conditions     lifecycle.StartConditions

	scopes       map[string]*actor.PID // the top ones
	scopeQuotas  map[messages.ScopePath]messages.ScopeQuota
	scopesOpened map[messages.ScopePath]bool // whose opening is recorded
	sessions     map[messages.Address]messages.SessionInfo
	sessionSpecs map[messages.Address]messages.OpenSession // to open them again
	closings     map[messages.Address]*pendingClose
	handovers    map[messages.JobID]*handover
	crashCounts  map[messages.Address]*crashes // of sessions and scopes

	shells shells

	recorder        *actor.PID     // of a journal that may wait; nil: none
	inlineJournal   *inlineJournal // a journal that never waits; nil: see recorder
	seq             messages.Seq   // of the newest fact
	unwritten       []messages.FactRecorded
	deferredReplies []deferredReply // of this message
	journalErr      *messages.Error // the journal takes no facts: no new work
	journalDead     bool            // the journal never takes facts again
	channels        channels
	// notifyTargets are the commands and URLs with pending or future notices.
	notifyTargets map[string]*notifyTarget
	waiters       map[string]*waiterEntry // by PID
	tasks         taskTable

	logBytes        int64                                   // output of archived jobs
	pendingEntry    JournalEntry                            // to record beside the facts
	pendingAcks     JournalEntry                            // to record with the next fact, or soon
	pendingRemovals []removal                               // of jobs whose end is being recorded
	deferred        []deferredRequest                       // requests before the node is open
	replacements    []*replacement                          // in the order of their requests
	endsPending     int                                     // exits known to the engine, not yet received
	stopRetries     map[messages.JobID]messages.StopCommand // stops without a waiting client
	shutdown        *shutdown
	timers          []scheduler.CancelFunc

	confirmTimer   scheduler.CancelFunc // of confirmEnds
	removeTimer    scheduler.CancelFunc // of removeTick
	trimTimer      scheduler.CancelFunc // of trimTick
	ackTimer       scheduler.CancelFunc // of acksTick
	stopRetryTimer scheduler.CancelFunc // of stopRetryTick
	retrying       scheduler.CancelFunc // of recordAgain
}

// phase is the phase of the node.
type phase uint8

const (
	opening phase = iota // reads the journal
	open
	settlingEnds // of jobs that are over, before the others are left to the engine
	closingScopes
	endingWaits
	recordingRest
	flushingRest
	down
)

// deferredRequest is a request that waits: until the node is open, or the job is placed.
type deferredRequest struct {
	request any
	sender  *actor.PID
}

// maxEarly bounds the deferred requests of one list.
const maxEarly = 1024

func newSupervisor(d *Deps) *supervisor {
	return &supervisor{
		deps: d, limit: d.Limits.withDefaults(),
		jobs: map[messages.JobID]*jobEntry{}, byUID: map[messages.UID]*jobEntry{}, byName: map[string][]*jobEntry{}, byKey: map[idempotencyKey]messages.JobID{},
		archives: map[messages.JobID]*actor.PID{}, scopes: map[string]*actor.PID{},
		scopeQuotas: map[messages.ScopePath]messages.ScopeQuota{}, scopesOpened: map[messages.ScopePath]bool{}, sessions: map[messages.Address]messages.SessionInfo{}, sessionSpecs: map[messages.Address]messages.OpenSession{},
		closings: map[messages.Address]*pendingClose{}, handovers: map[messages.JobID]*handover{}, crashCounts: map[messages.Address]*crashes{},
		channels: newChannels(), notifyTargets: map[string]*notifyTarget{}, waiters: map[string]*waiterEntry{}, tasks: taskTable{},
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
		ctx.Send(ctx.Self(), childStopped{who: msg.Who}) // after the child's remaining messages
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
	if len(s.replacements) > 0 {
		s.continueReplacements(ctx)
	}
	s.recordNow(ctx)
	s.flushReplies(ctx)
	s.flushEntry(ctx)
}

func (s *supervisor) start(ctx actor.Context) {
	s.admission = lifecycle.NewAdmission(s.limit.Starts, s.limit.Unstarted)
	s.conditions = lifecycle.NewStartConditions(s.deps.Queues)
	if j, ok := s.deps.Journal.(NonBlocking); ok && j.Quick() {
		s.inlineJournal = &inlineJournal{Journal: s.deps.Journal, log: s.deps.Log}
		s.recordAgain(ctx)
		return
	}
	s.recorder = ctx.SpawnPrefix(recorderProps(s.deps), kindRecorder)
}

// request takes a request of a client in every phase.
func (s *supervisor) request(ctx actor.Context, msg messages.Refusable) {
	tooEarly := s.phase == opening || s.endsPending > 0 && ctx.Sender() != nil // requests of the node itself need no reply
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
		s.run(ctx, r, ctx.Sender())
	case messages.ListJobs, messages.FindJob, messages.RemoveJob, messages.ReportFault, messages.AnnounceTask, messages.UpdateTask,
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

// fromBelow takes the messages of the tree that are no facts about jobs.
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
		s.shutdownStep(ctx)
	case unsettled:
		s.unsettled(ctx, m)
	case messages.Fact:
		s.sessionFact(ctx, m)
	}
}

// housekeeping takes finished children, timers and reports of notifiers.
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
	case acksTick: // maybe stale: a fact may have taken the acknowledgements along
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

// childEnded stops a child that has sent childDone.
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

// lost takes that a child has stopped and handles a crash.
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
