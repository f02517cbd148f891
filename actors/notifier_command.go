package actors

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// commandNotifier tells one command of the ends of jobs, one after the other: it has the node
// run it as a job in a scope of its own, gives it the record on its standard input,
// and waits for its end. It is the subscriber of a channel and speaks with the
// supervisor (parent), as a client and about what became of each notice.
//
// The number of a notice is the key of its job. So a node that begins again, or an
// actor that was put in the place of this one, joins the job that is there, and goes
// on with its input where it ended: no command is run twice for one notice. A job that
// ended before it began is followed by another under the next key, which whoever comes
// next finds in the same way.
type commandNotifier struct {
	deps   *Deps
	notice notice
	job    messages.JobID   // that was started for it
	record []byte           // its input
	given  int64            // of that: what was handed out since the job was asked how much it has had
	lost   bool             // the directory of the job that ended is no more
	never  []messages.JobID // those for this notice that ended before they began
}

// noticeTimeout is how long a command may take that is told of an end: the next notice
// for it waits that long.
const noticeTimeout = time.Minute

// noticePatience is how long nothing may be heard before it is asked again: what was
// on its way may have been lost with an actor.
const noticePatience = noticeTimeout / 2

// inputChunk is how much input is written at a time, so that little waits for a
// command that does not read.
const inputChunk = messages.MaxInput / 4

// noticePrincipal owns the keys of notices.
const noticePrincipal messages.Principal = "troupe:notice"

func newCommandNotifier(d *Deps, to string) actor.Actor {
	return &commandNotifier{deps: d, notice: notice{to: to}}
}

// Receive implements actor.Actor.
func (e *commandNotifier) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Stopping, *actor.Restarting:
		e.notice.abandon()
	case messages.Notification:
		if e.notice.take(msg) {
			e.begin(ctx)
		}
	case messages.FactsDropped:
		ctx.Send(ctx.Parent(), noticesDropped{to: e.notice.to, upTo: msg.To})
	case tryAgain:
		if msg.gen == e.notice.gen {
			e.run(ctx)
		}
	case messages.Unsubscribed: // the supervisor has given up what was left
	default:
		e.answered(ctx, msg)
	}
}

// answered hears what the node says to its client.
func (e *commandNotifier) answered(ctx actor.Context, msg any) {
	if e.notice.current.Seq == 0 {
		return // an answer about the input of one that is over
	}
	switch m := msg.(type) {
	case messages.CommandPromoted:
		e.started(ctx, m.Job)
	case messages.CommandFinished:
		e.ended(ctx, m.Job)
	case messages.CommandRejected:
		e.refused(ctx, m.Err)
	case messages.InputWritten:
		e.feed(ctx, m.Through)
	case messages.WaitEnded:
		for _, job := range m.Jobs {
			e.ended(ctx, job)
		}
	case messages.RequestRejected: // nobody waits for it now: ask again
		e.failed(ctx, m.Err, false)
	case messages.Acknowledged: // of the end of its input
	default:
		unhandled(ctx, e.deps)
	}
}

func (e *commandNotifier) begin(ctx actor.Context) {
	var err error
	if e.record, err = json.Marshal(e.notice.current.Job); err != nil {
		e.failed(ctx, messages.Error{Code: messages.Internal, Message: "cannot encode the record: " + err.Error()}, true)
		return
	}
	e.record, e.lost, e.never = append(e.record, '\n'), false, nil
	e.run(ctx)
}

// run asks for the job, or for the one that was begun before. It runs where the job
// ran that has ended, if that is still there.
func (e *commandNotifier) run(ctx actor.Context) {
	d, gen := e.notice.current, e.notice.next()
	e.job = ""
	e.notice.wait(ctx, noticePatience, gen)
	key, dir := d.ID()+" "+d.To, d.Job.Dir
	if e.lost {
		key, dir = key+" elsewhere", ""
	}
	if n := len(e.never); n > 0 {
		key = fmt.Sprintf("%s afresh %d", key, n)
	}
	ctx.Request(ctx.Parent(), messages.RunCommand{
		Key: key, Principal: noticePrincipal, Scope: messages.NoticeScope, Text: d.To, Dir: dir, Tag: d.ID(),
		Description: fmt.Sprintf("is told of the end of job %s", d.Job.ID),
		Stdin:       messages.StdinPipe, Background: true, Timeout: noticeTimeout, OnExit: messages.KillChildren,
	})
}

// started asks how much input the job has had: what another one than this has given
// it is not given twice.
func (e *commandNotifier) started(ctx actor.Context, job messages.Job) {
	if e.job != "" || job.Tag != e.notice.current.ID() {
		return
	}
	e.job, e.given = job.ID, 0
	ctx.Request(ctx.Parent(), messages.WaitJobs{Jobs: []messages.JobID{job.ID}})
	ctx.Request(ctx.Parent(), messages.WriteInput{Job: job.ID})
}

// feed gives the job its next piece of input, or the end of it. It may have been asked how
// much it has had while a piece waited to be taken: then two answers say the same, and the
// second is behind what was given for the first.
func (e *commandNotifier) feed(ctx actor.Context, through int64) {
	if e.job == "" || through < e.given {
		return
	}
	rest := e.record[min(max(through, 0), int64(len(e.record))):]
	if len(rest) == 0 {
		ctx.Request(ctx.Parent(), messages.CloseInput{Job: e.job})
		return
	}
	piece := rest[:min(len(rest), inputChunk)]
	e.given = through + int64(len(piece))
	ctx.Request(ctx.Parent(), messages.WriteInput{Job: e.job, Data: piece})
}

// refused hears that the job cannot be run, now or ever. That it takes no input any
// more is its own affair; what was lost on the way to it is asked again.
func (e *commandNotifier) refused(ctx actor.Context, err messages.Error) {
	if e.job != "" && err.Passing() {
		e.failed(ctx, err, false)
		return
	}
	if e.job != "" || slices.Contains([]messages.Code{messages.JobFinished, messages.NoInput, messages.NotFound}, err.Code) {
		return
	}
	e.unstarted(ctx, err)
}

// unstarted hears why the command did not run: it is tried again elsewhere, or later, or
// never.
func (e *commandNotifier) unstarted(ctx actor.Context, err messages.Error) {
	if gone := err.Code == messages.CwdNotFound || err.Code == messages.CwdNotDir; gone && !e.lost {
		e.lost = true
		e.run(ctx)
		return
	}
	e.failed(ctx, err, !slices.Contains(notNow, err.Code))
}

// notNow are the reasons for which a command may run later that does not run now.
var notNow = []messages.Code{messages.Busy, messages.QueueFull, messages.ResourceExhausted, messages.ShuttingDown, messages.SessionClosedCode, messages.Internal}

// neverStarted tells the end of a job of which nothing has run, and which nobody wanted to
// end: that of a node that ended before its turn came, or one that there was no room for.
func neverStarted(job messages.Job) (why messages.Error, never bool) {
	elsewhere := job.Err.Code == messages.CwdNotFound || job.Err.Code == messages.CwdNotDir
	switch {
	case !job.Started.IsZero():
	case job.Outcome == messages.FailedToStart:
		return job.Err, elsewhere || slices.Contains(notNow, job.Err.Code)
	case job.Cause.By == messages.ByShutdown || job.Cause.By == messages.BySystem:
		return messages.Error{
			Code: messages.ShuttingDown, Reason: string(job.Cause.By), Message: fmt.Sprintf("job %s was ended before it could start; nothing of it has run", job.ID),
		}, true
	}
	return messages.Error{}, false
}

func (e *commandNotifier) failed(ctx actor.Context, err messages.Error, forGood bool) {
	e.notice.tried(ctx, messages.Delivered{Err: err, Gone: forGood})
}

// ended hears how the command ended. If it ran it is not run again, whatever it says.
func (e *commandNotifier) ended(ctx actor.Context, job messages.Job) {
	if job.Tag != e.notice.current.ID() || !job.State.Ended() || slices.Contains(e.never, job.ID) {
		return
	}
	if why, never := neverStarted(job); never {
		e.never = append(e.never, job.ID)
		e.unstarted(ctx, why)
		return
	}
	result := messages.Delivered{Gone: true}
	if job.Outcome != messages.Exited || job.Status.Code != 0 {
		how := string(job.Outcome)
		if job.Outcome == messages.Exited || job.Outcome == messages.Signaled {
			how = job.Status.String()
		}
		result.Err = messages.Error{
			Code: messages.Refused, Reason: string(job.Outcome),
			Message: fmt.Sprintf("the command did not take the notice: job %s, %s", job.ID, how), Hint: fmt.Sprintf("troupe logs %s shows what it printed", job.ID),
		}
	}
	e.notice.tried(ctx, result)
}
