package supervision_test

import (
	"context"
	"errors"
	"time"

	"troupe/internal/node"
	"troupe/internal/test/fake"
	"troupe/messages"
)

// ending is how a schedule ends, with whatever is outstanding then.
type ending struct {
	name string
	play func(x *explorer)
}

var endings = []ending{
	{"ends in order", func(x *explorer) { x.shutDown(messages.ShutdownNode{Grace: pick(x, -1, 0, time.Second)}) }},
	{"ends in order while clients ask on", func(x *explorer) { x.shutDownAmong(time.Hour) }},
	{"ends when all is done", (*explorer).playOn},
	{"leaves its jobs", func(x *explorer) { x.shutDown(messages.ShutdownNode{KeepJobs: true}) }},
	{"is forced to end", func(x *explorer) {
		x.cut = true
		x.shutDownAmong(x.while())
	}},
	{"fails", (*explorer).supervisorFails},
}

// untilAllIsDone is longer than all jobs of a schedule take, one after the other.
const untilAllIsDone = 100 * 24 * time.Hour

// playOn lets everything that ends by itself end, and looks at the records.
func (x *explorer) playOn() {
	x.note("all that ends by itself ends")
	for range 4 {
		x.after(30 * time.Second)
		x.look()
	}
	x.after(untilAllIsDone)
	x.look()
	x.checkRecords()
	x.checkSessions()
	x.shutDown(messages.ShutdownNode{})
}

// checkSessions sees to it that each session that is open takes a command and runs it.
func (x *explorer) checkSessions() {
	for _, m := range x.ask(messages.ListSessions{}).heard() {
		for _, s := range m.(messages.SessionList).Sessions {
			r := messages.RunCommand{UID: uid(len(x.runs) + 1), Scope: s.Scope, Session: s.Session, Program: messages.Program{Text: x.born()}}
			x.lives[r.Text] = (&course{}).then(0, "exit 0", func(p *fake.Process) { p.Exit(0) })
			c := x.request(r)
			x.runs = append(x.runs, c)
			x.after(time.Minute)
			for _, m := range c.heard() {
				if end, is := m.(messages.CommandFinished); is && end.Job.End.Outcome == messages.Exited {
					continue
				}
				if no, is := m.(messages.CommandRejected); is && no.Err.Code == messages.ResourceExhausted {
					continue
				}
				x.Errorf("session %s of %s does not run a command: %T %s", s.Session, s.Scope, m, brief(m))
			}
			if len(c.heard()) == 0 {
				x.Errorf("session %s of %s does not run a command: %+v", s.Session, s.Scope, s)
			}
		}
	}
}

// shutDown ends the node.
func (x *explorer) shutDown(r messages.ShutdownNode) {
	x.note("%s", say(r))
	x.beginEnd(r.KeepJobs)
	x.endWithin(r, time.Hour)
}

// shutDownAmong ends the node while clients ask on.
func (x *explorer) shutDownAmong(within time.Duration) {
	x.note("Shutdown within %s, and meanwhile:", within)
	x.beginEnd(x.cut)
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.endWithin(messages.ShutdownNode{}, within)
	}()
	for range 6 {
		x.op()
	}
	<-done
}

func (x *explorer) beginEnd(leaves bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over, x.left, x.closing = true, leaves, true
	x.failedAtEnd = x.failing || time.Since(x.mended) < recordRetry
}

// endsWithin is how long an ordered end may take: the grace of the jobs, and
// what the supervisor allows each phase.
const endsWithin = time.Minute

func (x *explorer) endWithin(r messages.ShutdownNode, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	began := time.Now()
	err := x.node.Shutdown(ctx, r)
	if took := time.Since(began); took > min(within, endsWithin) {
		x.Errorf("the end of the node took %s", took)
	}
	var survivors *node.SurvivorsError
	if err != nil && !x.cut && !errors.As(err, &survivors) {
		x.Errorf("the end of the node: %v", err)
	}
	if x.left {
		return
	}
	for _, p := range x.engine.Live() {
		if !kept(p) {
			x.Errorf("%q lives when the node has ended in order (%v)", p.Text(), p.Signalled())
		}
	}
}

// kept says whether what is left of a process was told to outlive its session.
func kept(p *fake.Process) bool {
	return p.Spec.OnExit == messages.KeepChildren && result(p) != nil
}

// supervisorFails ends the node by its failure.
func (x *explorer) supervisorFails() {
	x.note("the supervisor fails")
	x.beginEnd(true)
	x.cut = true
	x.system().Root.Send(x.top(), boom{})
	<-x.node.Failed()
	if err := x.node.Shutdown(context.Background(), messages.ShutdownNode{}); err == nil {
		x.Errorf("the end of a failed node is told as a success")
	}
}
