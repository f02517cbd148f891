package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// A command keeps the sizes of its job's terminal, and answers terminal queries while no
// client shows the terminal (docs/decisions/024).

// Screens draw the terminals of jobs. No call waits; each calls its function once, from
// another goroutine.
type Screens interface {
	// Show draws the screen of a terminal.
	Show(t backends.Terminal, done func(messages.ScreenText, *messages.Error))
	// Answer returns a terminal's replies to the queries from the byte after.
	Answer(t backends.Terminal, after int64, done func(backends.QueryReplies, *messages.Error))
}

const (
	// maxSizes bounds the sizes that are kept of one terminal.
	maxSizes = 16
	// unknownAnswers says that it is not known which queries have had a reply. Then all
	// queries so far count as answered.
	unknownAnswers = -1
)

// terminal is a command's state of the terminal of its job.
type terminal struct {
	machine lifecycle.Terminal
	sizes   []backends.SizeChange
	rest    scheduler.CancelFunc // of the next scan
}

// queriesScanned is the result of a scan of the output for terminal queries. Only the command
// that requested it takes it.
type queriesScanned struct {
	noDeadLetter
	event lifecycle.QueriesScanned
}

// scanTick says that the next scan is due.
type scanTick struct{ noDeadLetter }

// newTerminal returns the terminal of a job; nil: it has none.
func newTerminal(job messages.Record, answered int64) *terminal {
	if job.Terminal == (messages.Terminal{}) {
		return nil
	}
	return &terminal{machine: lifecycle.Terminal{Answered: answered}, sizes: []backends.SizeChange{{Size: job.Terminal}}}
}

// theRun names the client of a run whose own terminal shows the job.
const theRun = "the run"

// shownBy lets the client of a run answer the queries until the job is promoted, if its
// terminal shows the job.
func (t *terminal) shownBy(r *jobOptions, promoted bool) {
	if t != nil && r.shown && !r.background && !promoted {
		t.machine.Holder = theRun
	}
}

// promoted ends the answers of the run's client.
func (c *command) promoted(ctx actor.Context) {
	if c.terminal == nil || c.terminal.machine.Holder != theRun {
		return
	}
	leave := messages.ReleaseTerminal{By: theRun}
	if c.proc != nil { // else the job has not started
		leave.Through = c.written()
	}
	c.stepTerminal(ctx, leave)
}

// of returns the terminal for Screens.
func (t *terminal) of(uid messages.UID, open func(messages.Stream) (spill.Log, error)) backends.Terminal {
	if t == nil {
		return backends.Terminal{}
	}
	return backends.Terminal{ID: uid, Sizes: t.sizes, Log: func() (spill.Log, error) { return open(messages.Merged) }}
}

// openTerminal starts to answer queries when the job has an output.
func (c *command) openTerminal(ctx actor.Context) {
	t := c.terminal
	if t == nil || c.proc == nil || c.failed {
		return
	}
	c.skipQueries()
	c.stepTerminal(ctx, lifecycle.Opened{})
}

// skipQueries counts all queries so far as answered if that is unknown.
func (c *command) skipQueries() {
	if t := c.terminal; t != nil && t.machine.Answered == unknownAnswers {
		t.machine.Answered = c.written()
	}
}

// written returns the size of the output in bytes.
func (c *command) written() int64 {
	log, err := c.proc.Output(messages.Merged)
	if err != nil {
		return 0
	}
	defer log.Close()
	return log.State().Size
}

// resized stores a new size of the terminal and the byte from which it holds.
func (c *command) resized(ctx actor.Context, size messages.Terminal) {
	t := c.terminal
	if t == nil || c.proc == nil || c.machine.Job.Terminal != size || t.sizes[len(t.sizes)-1].Size == size {
		return
	}
	if len(t.sizes) == maxSizes {
		t.sizes = append(slices.Clone(t.sizes[:1]), t.sizes[2:]...)
	}
	t.sizes = append(slices.Clip(t.sizes), backends.SizeChange{From: c.written(), Size: size})
	if c.meta != nil {
		c.proc.SaveMeta(c.meta.of(c.machine.Job))
	}
	if c.sink != nil && c.hasLogs {
		ctx.Send(c.sink, terminalSized{sizes: t.sizes})
	}
}

// askedTerminal answers a claim or release of the terminal.
func (c *command) askedTerminal(ctx actor.Context, request messages.Addressed) {
	switch {
	case c.terminal == nil:
		refuse(ctx, request, noTerminal(c.machine.Job.ID))
		return
	case c.machine.Job.State.Ended():
		refuse(ctx, request, lifecycle.JobFinished(c.machine.Job.ID))
		return
	}
	if take, is := request.(messages.ClaimTerminal); is && take.By == "" {
		refuse(ctx, request, messages.Invalid("by", "name the client that takes the terminal"))
		return
	}
	c.stepTerminal(ctx, request)
	if ctx.Sender() == nil || !reachable(ctx, ctx.Sender()) {
		return
	}
	if _, is := request.(messages.ClaimTerminal); is {
		ctx.Respond(messages.TerminalClaimed{Answered: c.terminal.machine.Answered})
		return
	}
	ctx.Respond(messages.Acknowledged{})
}

// stepTerminal passes an event to the machine and performs its effects.
func (c *command) stepTerminal(ctx actor.Context, event any) {
	t := c.terminal
	if t == nil || c.deps.Screens == nil {
		return
	}
	var effects []lifecycle.TerminalEffect
	t.machine, effects = t.machine.Step(event)
	for _, effect := range effects {
		c.performTerminal(ctx, effect)
	}
}

func (c *command) performTerminal(ctx actor.Context, effect lifecycle.TerminalEffect) {
	switch e := effect.(type) {
	case lifecycle.Listen:
		if !c.closed {
			c.proc.NotifyGrowth(messages.Merged, e.From)
		}
	case lifecycle.ScanQueries:
		c.scanQueries(ctx, e)
	case lifecycle.DelayScan:
		c.terminal.rest = sendLater(ctx, e.After, scanTick{})
	case lifecycle.Answer:
		if c.meta != nil {
			c.meta.answered = e.Through
			c.proc.SaveMeta(c.meta.of(c.machine.Job))
		}
		if len(e.Data) > 0 {
			c.step(ctx, lifecycle.Asked{Request: messages.WriteInput{Job: c.machine.Job.ID, Data: e.Data, Raw: true}})
		}
	}
}

// scanQueries scans the output for terminal queries.
func (c *command) scanQueries(ctx actor.Context, l lifecycle.ScanQueries) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	c.deps.Screens.Answer(c.terminal.of(c.machine.Job.UID, c.proc.Output), l.After, func(a backends.QueryReplies, err *messages.Error) {
		if reachable(root, self) {
			root.Send(self, queriesScanned{event: lifecycle.QueriesScanned{Gen: l.Gen, Data: a.Data, Through: a.Through, Bytes: a.Bytes}})
		}
	})
}

// terminalEvent takes a message about the terminal of the job.
func (c *command) terminalEvent(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case queriesScanned:
		c.stepTerminal(ctx, m.event)
	case scanTick:
		c.stepTerminal(ctx, lifecycle.ScanDue{})
	case messages.ClaimTerminal:
		c.askedTerminal(ctx, m)
	case messages.ReleaseTerminal:
		c.askedTerminal(ctx, m)
	}
}

// closeTerminal cancels the next scan.
func (c *command) closeTerminal() {
	if c.terminal != nil && c.terminal.rest != nil {
		c.terminal.rest()
	}
}

// noTerminal returns the error of a request that needs a terminal.
func noTerminal(job messages.JobID) *messages.Error {
	return &messages.Error{
		Code: messages.Unsupported, Reason: "terminal", Message: fmt.Sprintf("job %s has no terminal, so there is no screen", job),
		Hint: fmt.Sprintf("troupe logs %s shows its output", job),
	}
}
