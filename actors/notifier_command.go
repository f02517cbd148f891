package actors

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// commandNotifier delivers notices to one command, one after the other. It runs the command
// as a job in its own scope, writes the record to its standard input and waits for its end.
// It subscribes to a channel. It is a client of the supervisor (parent) and reports the
// result of each notice to it.
//
// The number of a notice is the idempotency key of its job. After a crash or a restart a new
// actor joins that job and continues its input, so that no command runs twice for a notice.
// A job that ended before its start is followed by another under the next key.
type commandNotifier struct {
	deps   *Deps
	notice notice
	job    messages.JobID   // of the current notice; "": none
	record []byte           // its input
	given  int64            // bytes of it that were sent
	lost   bool             // the directory of the ended job does not exist any more
	never  []messages.JobID // jobs for this notice that ended before their start
}

// noticeTimeout bounds the run of a notice's command. The next notice waits for it.
const noticeTimeout = time.Minute

// noticeOutput bounds what is kept of the output of a notice's command.
const noticeOutput = 1 << 20

// noticePatience is how long an answer may take before the request is repeated: an actor that
// crashes can lose it.
const noticePatience = noticeTimeout / 2

// inputChunk bounds the bytes of one write, so that few wait for a command that does not
// read.
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
	case messages.Unsubscribed: // the remaining notices were dropped, or wait for the next node
	default:
		e.answered(ctx, msg)
	}
}

// answered takes an answer to a request.
func (e *commandNotifier) answered(ctx actor.Context, msg any) {
	if e.notice.current.Seq == 0 {
		return // about the job of a former notice
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
	case messages.RequestRejected: // the wait has failed: repeat it
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

// run starts the command or joins the one that runs. Its directory is that of the ended job,
// if it still exists.
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
		Key: key, Labels: messages.Labels{Principal: noticePrincipal, Tag: d.ID(), Description: fmt.Sprintf("notice of the end of job %s", d.Job.ID)}, Scope: messages.NoticeScope, Program: messages.Program{Text: d.To}, Dir: dir,
		Stdio: messages.Stdio{Stdin: messages.StdinPipe}, Mode: messages.ModeAsync, Timeout: noticeTimeout, OnExit: messages.KillChildren,
		Store: messages.Store{Quota: messages.Quota{Bytes: noticeOutput, Policy: "elide"}},
	})
}

// started asks how much input the job has had, since a former actor may have written some.
func (e *commandNotifier) started(ctx actor.Context, job messages.Record) {
	if e.job != "" || job.Tag != e.notice.current.ID() {
		return
	}
	e.job, e.given = job.ID, 0
	ctx.Request(ctx.Parent(), messages.WaitJobs{Jobs: []messages.JobID{job.ID}})
	ctx.Request(ctx.Parent(), messages.WriteInput{Job: job.ID})
}

// feed writes the next chunk of input or closes the input. Two answers with the same count
// are possible if a chunk was waiting; given skips the second.
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

// refused takes a refused run or write. A job may refuse input. A write that was lost is
// repeated later.
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

// unstarted takes why the command did not run. It is tried again in another directory, later,
// or never.
func (e *commandNotifier) unstarted(ctx actor.Context, err messages.Error) {
	if gone := err.Code == messages.CwdNotFound || err.Code == messages.CwdNotDir; gone && !e.lost {
		e.lost = true
		e.run(ctx)
		return
	}
	e.failed(ctx, err, !slices.Contains(notNow, err.Code))
}

// notNow are the codes after which a command may run later.
var notNow = []messages.Code{messages.Busy, messages.QueueFull, messages.ResourceExhausted, messages.ShuttingDown, messages.SessionClosedCode, messages.Internal}

// neverStarted reports whether a job has ended before its start without a stop by a client:
// the node shut down, or a limit was reached.
func neverStarted(job messages.Record) (why messages.Error, never bool) {
	elsewhere := job.End.Err.Code == messages.CwdNotFound || job.End.Err.Code == messages.CwdNotDir
	switch {
	case !job.Started.IsZero():
	case job.End.Outcome == messages.FailedToStart:
		return job.End.Err, elsewhere || slices.Contains(notNow, job.End.Err.Code)
	case job.End.Cause.By == messages.ByShutdown || job.End.Cause.By == messages.BySystem:
		return messages.Error{
			Code: messages.ShuttingDown, Reason: string(job.End.Cause.By), Message: fmt.Sprintf("job %s was ended before it could start; nothing of it has run", job.ID),
		}, true
	}
	return messages.Error{}, false
}

func (e *commandNotifier) failed(ctx actor.Context, err messages.Error, forGood bool) {
	e.notice.tried(ctx, messages.Delivered{Err: err, Gone: forGood})
}

// ended takes the end of the command. A command that has run is not run again.
func (e *commandNotifier) ended(ctx actor.Context, job messages.Record) {
	if job.Tag != e.notice.current.ID() || !job.State.Ended() || slices.Contains(e.never, job.ID) {
		return
	}
	if why, never := neverStarted(job); never {
		e.never = append(e.never, job.ID)
		e.unstarted(ctx, why)
		return
	}
	result := messages.Delivered{Gone: true}
	if job.End.Outcome != messages.Exited || job.End.Shell() != 0 {
		how := string(job.End.Outcome)
		if job.End.Outcome == messages.Exited || job.End.Outcome == messages.Signaled {
			s, _ := job.End.Status()
			how = s.String()
		}
		result.Err = messages.Error{
			Code: messages.Refused, Reason: string(job.End.Outcome),
			Message: fmt.Sprintf("the command did not take the notice: job %s, %s", job.ID, how), Hint: fmt.Sprintf("troupe logs %s shows what it printed", job.ID),
		}
	}
	e.notice.tried(ctx, result)
}
