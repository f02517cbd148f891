package actors

import (
	"cmp"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/messages"
)

// command is the actor of one job. It decides by its machine, holds the process and owns the
// sink of the output. It sends messages to its session (parent), its sink (child) and the
// clients of requests.
type command struct {
	deps         *Deps
	shell        backends.Executor
	spec         *backends.Command // nil: started, or adopted
	machine      lifecycle.Command
	meta         *metaEncoder // of the job's metadata; nil: the job cannot outlive the tree
	metaSaved    bool         // the engine has the metadata
	adopt        bool         // the engine has the job already
	slotGranted  bool         // the job may start
	dirRequested bool         // the request names a directory, which a live shell changes to

	hasLogs     bool // the process exists or has failed, so no more logs will come
	failed      bool // the process could not start: there are no logs
	closed      bool // no more bytes follow
	noSink      bool // the sink crashed too often: reads answer output_unavailable
	finishing   bool // the actor is done and waits for its sink and its stop
	handingOver bool // it is done because the job is handed over
	proc        backends.Process
	sink        *actor.PID
	clients     replyTargets
	// terminal of the job; nil: none.
	terminal *terminal
	timers   map[lifecycle.Timer]scheduler.CancelFunc // nil: none was armed
}

// startGranted lets a command start its job, in a live shell in dir.
type startGranted struct {
	noDeadLetter
	dir string
}

// Receive implements actor.Actor.
func (c *command) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		c.start(ctx)
	case *actor.Stopping:
		c.abandon(ctx)
	case *actor.Terminated:
		c.sinkLost(ctx)
	case startGranted:
		c.machine = c.machine.In(cmp.Or(msg.dir, c.machine.Job.Dir))
		c.step(ctx, lifecycle.Granted{})
	case neverStarts:
		c.step(ctx, lifecycle.NeverStarts{Err: msg.err})
	case recorded:
		c.step(ctx, lifecycle.Recorded{Retired: msg.retired, Unwritten: msg.unwritten})
	case yield:
		c.handingOver = true
		c.requestStop(ctx)
	case syncFacts:
		ctx.Respond(factsSynced{who: ctx.Self()})
	case messages.ProcessFact:
		c.fact(ctx, msg)
	case lifecycle.Expired:
		c.step(ctx, msg)
	case messages.ReadOutput, messages.FollowOutput, messages.ReadScreen:
		c.askSink(ctx)
	case watchOutput, outputsWanted, flushed:
		c.serveSink(ctx, msg)
	case queriesScanned, scanTick, messages.ClaimTerminal, messages.ReleaseTerminal:
		c.terminalEvent(ctx, msg)
	default:
		c.asked(ctx, msg)
	}
}

// asked takes a control request. An effect answers the client once.
func (c *command) asked(ctx actor.Context, msg any) {
	request, ok := msg.(messages.Addressed)
	if !ok {
		unhandled(ctx, c.deps)
		return
	}
	c.step(ctx, lifecycle.Asked{By: c.clients.ticket(ctx), Request: request})
}

// fact takes a fact of the engine. The sink receives those about the output.
func (c *command) fact(ctx actor.Context, fact messages.ProcessFact) {
	switch f := fact.(type) {
	case messages.ProcessStarted:
		c.open(ctx)
	case messages.OutputGrew:
		if c.sink != nil {
			ctx.Send(c.sink, f)
		}
		c.stepTerminal(ctx, f)
		return
	case messages.ProcessFailed:
		c.failed = true
		c.close(ctx)
	case messages.OutputClosed, messages.ProcessLost:
		c.close(ctx)
	case messages.ProcessExited:
		if f.Last > 0 {
			c.close(ctx)
		}
		if f.Dir != "" && (c.dirRequested || f.Dir != c.machine.Job.Dir) {
			ctx.Send(ctx.Parent(), shellDir{dir: f.Dir})
		}
	}
	c.step(ctx, fact)
}

// close tells the sink that no more bytes follow.
func (c *command) close(ctx actor.Context) {
	c.closed = true
	c.open(ctx)
	if c.sink != nil {
		ctx.Send(c.sink, outputClosed{})
	}
}

func (c *command) step(ctx actor.Context, event any) {
	var effects []lifecycle.Effect
	c.machine, effects = c.machine.Step(clock(), event)
	for _, effect := range effects {
		c.perform(ctx, effect)
	}
}

func (c *command) perform(ctx actor.Context, effect lifecycle.Effect) {
	switch e := effect.(type) {
	case lifecycle.Arm:
		c.disarm(e.Timer)
		if c.timers == nil {
			c.timers = map[lifecycle.Timer]scheduler.CancelFunc{}
		}
		c.timers[e.Timer] = sendLater(ctx, e.After, lifecycle.Expired{Timer: e.Timer, Gen: e.Gen})
	case lifecycle.Disarm:
		c.disarm(e.Timer)
	case lifecycle.Start:
		c.spec.Deadline = e.Deadline
		if c.meta != nil {
			c.spec.Meta = c.meta.of(c.machine.Job)
		}
		c.proc = c.shell.Start(*c.spec, c.facts(ctx))
		c.spec = nil // saves much of the memory of a running job
	case lifecycle.Do:
		c.proc.Do(backends.Sequenced{Control: control(e.Request), Nth: e.Nth})
		if r, is := e.Request.(messages.ResizeTerminal); is {
			c.resized(ctx, r.Size)
		}
	case lifecycle.Stop:
		c.proc.Stop(e.Cause, e.Grace)
	case lifecycle.Tell:
		c.saveMeta(e)
		if _, is := e.Fact.(messages.CommandPromoted); is {
			c.promoted(ctx)
		}
		ctx.Send(ctx.Parent(), jobUpdateOf(e))
	case lifecycle.Reply:
		c.clients.answer(ctx, e)
	case lifecycle.Settle:
		if c.proc != nil {
			c.proc.Settle(e.Seq)
		}
	case lifecycle.Keep:
		if c.proc != nil {
			ctx.Send(ctx.Parent(), unsettled{job: c.machine.Job.ID, proc: c.proc, seq: e.Seq})
		}
	case lifecycle.Retire:
		c.requestStop(ctx)
	}
}

// saveMeta stores changed metadata in the engine before the change is reported. A client that
// knows of a promotion finds the job promoted after a restart.
func (c *command) saveMeta(t lifecycle.Tell) {
	if c.meta == nil || c.proc == nil {
		return
	}
	switch t.Fact.(type) {
	case messages.CommandPromoted, messages.CommandChanged:
		c.proc.SaveMeta(c.meta.of(t.Job))
	}
}

func jobUpdateOf(t lifecycle.Tell) jobUpdate {
	return jobUpdate{fact: t.Fact, job: t.Job, last: t.Last}
}

func (c *command) disarm(t lifecycle.Timer) {
	if cancel := c.timers[t]; cancel != nil {
		cancel()
		delete(c.timers, t)
	}
}

// start starts a job that has a slot, or adopts one that exists. The engine replays the facts
// of an adopted job.
func (c *command) start(ctx actor.Context) {
	c.step(ctx, lifecycle.Placed{})
	if c.slotGranted {
		c.step(ctx, lifecycle.Granted{})
	}
	if !c.adopt {
		return
	}
	proc, err := c.shell.Adopt(c.machine.Job.UID, c.facts(ctx))
	if err != nil {
		c.step(ctx, lifecycle.Forgotten{Err: messages.Error{
			Code: messages.NotFound, Reason: "engine", Message: "the engine no longer knows the job: " + err.Error(),
		}})
		return
	}
	c.proc = proc
	c.skipQueries()
	if c.meta != nil && !c.metaSaved && !c.machine.Job.State.Ended() {
		proc.SaveMeta(c.meta.of(c.machine.Job)) // its scope may have changed
	}
}

// facts returns the handler by which the engine sends facts to this actor. It drops facts
// that a ProcessExited with Last includes.
func (c *command) facts(ctx actor.Context) backends.FactHandler {
	root, self, over := ctx.ActorSystem().Root, ctx.Self(), false
	return func(fact messages.ProcessFact) {
		switch f := fact.(type) {
		case messages.ProcessExited:
			over = f.Last > 0
		case messages.OutputClosed, messages.TreeEnded:
			if over {
				return
			}
		}
		root.Send(self, fact)
	}
}

// open gives the sink its logs when the process exists or has failed.
func (c *command) open(ctx actor.Context) {
	if !c.hasLogs && c.sink != nil {
		ctx.Send(c.sink, c.outputs())
	}
	c.hasLogs = true
	c.openTerminal(ctx)
}

// noJob is the record of an actor that has released its job.
var noJob messages.Record

// abandon cancels the timers, refuses waiting requests and releases the process, which stays
// with the engine. It clears the fields, since the library keeps some stopped actors.
func (c *command) abandon(ctx actor.Context) {
	for t := range c.timers {
		c.disarm(t)
	}
	c.closeTerminal()
	if c.proc != nil {
		c.proc.Release()
	}
	why := internalError()
	if c.handingOver {
		why = isMoving(c.machine.Job.ID)
	}
	for _, effect := range c.machine.Abandon(why) {
		c.perform(ctx, effect)
	}
	c.proc, c.spec, c.meta, c.machine, c.clients = nil, nil, nil, lifecycle.Rebuild(&noJob, lifecycle.Limits{}), replyTargets{}
}

// askSink passes a request to the sink. It spawns the sink at the first request.
func (c *command) askSink(ctx actor.Context) {
	if c.noSink {
		refuse(ctx, ctx.Message(), &messages.Error{
			Code: messages.OutputUnavailable, Message: "the reader of this job's output failed too often",
			Hint: "the log is intact; read the file that the job names",
		})
		return
	}
	if c.machine.Job.State == messages.Queued && c.readQueued(ctx) {
		return
	}
	if c.sink == nil {
		deps, id := c.deps, c.machine.Job.ID
		c.sink = ctx.SpawnPrefix(sinkProps(deps, id), kindSink+string(id))
	}
	ctx.RequestWithCustomSender(c.sink, ctx.Message(), ctx.Sender())
}

// requestStop asks the parent for a stop after the last answer of the sink. An earlier stop
// would lose the sink's queue.
func (c *command) requestStop(ctx actor.Context) {
	c.finishing = true
	if c.sink != nil {
		ctx.Request(c.sink, flushSink{notStarted: !c.hasLogs})
		return
	}
	ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
}

func (c *command) sinkLost(ctx actor.Context) {
	c.sink, c.noSink = nil, true
	if c.finishing {
		c.requestStop(ctx)
	}
}

// serveSink handles a message of the sink.
func (c *command) serveSink(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case watchOutput:
		if c.hasLogs {
			c.proc.NotifyGrowth(m.stream, m.from)
		}
	case outputsWanted:
		if c.hasLogs { // else open sends them
			ctx.Send(ctx.Sender(), c.outputs())
		}
		if c.finishing && c.sink != nil {
			ctx.Request(c.sink, flushSink{notStarted: !c.hasLogs})
		}
	case flushed:
		ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
	}
}

// outputs returns how to open the logs of the job's streams.
func (c *command) outputs() outputs {
	if c.failed {
		return outputs{closed: true, terminal: c.terminal.of(c.machine.Job.UID, unwritten)}
	}
	return outputs{open: c.proc.Output, of: streams(*c.machine.Job), closed: c.closed, terminal: c.terminal.of(c.machine.Job.UID, c.proc.Output)}
}

// control returns a request in the form that the process takes.
func control(request any) backends.Control {
	switch r := request.(type) {
	case messages.SignalCommand:
		return backends.Signal{Name: r.Signal, Tree: r.Tree}
	case messages.WriteInput:
		return backends.Input{Data: r.Data, Raw: r.Raw}
	case messages.CheckInput:
		return backends.CheckInput{For: r.For}
	case messages.ResizeTerminal:
		return backends.Resize{Size: r.Size}
	case messages.ChangeDeadline:
		return backends.Deadline{After: r.After}
	case messages.PauseOutput:
		if r.Hold {
			return backends.Pause{}
		}
		return backends.Resume{}
	}
	return backends.CloseInput{}
}
