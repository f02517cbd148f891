package journal

import (
	"time"

	"troupe/messages"
)

// packed is a fact about a job as a journal in memory holds it. A record is large, and
// most of it is the same in all facts about one job, or not there before its end: the
// facts have the former in common, and the latter only when there is any.
type packed struct {
	who *identity
	end *ending // nil: nothing of it is known

	state      messages.State
	isolation  messages.Isolation
	backend    string
	dir        string
	output     []messages.StreamOutput
	started    time.Time
	deadline   time.Time
	pid        int
	startTime  uint64
	seq        messages.Seq
	kind       uint8 // jobKind
	background bool
	waits      bool
	secret     bool
}

// identity is what is seldom changed in a record.
type identity struct {
	asked
	argv       []string
	envDropped []string
	onFinish   []messages.Notice
	flags      []messages.Flag
}

// asked is the part of it that can be compared.
type asked struct {
	id          messages.JobID
	uid         messages.UID
	scope       messages.ScopePath
	session     messages.SessionID
	principal   messages.Principal
	tag         string
	name        string
	command     string
	description string
	mode        messages.Mode
	terminal    messages.Terminal
	timeout     time.Duration
	created     time.Time
}

// ending is what a record has of the end of its job.
type ending struct {
	result
	survivors []messages.Survivor
}

// result is the part of it that can be compared.
type result struct {
	outcome    messages.Outcome
	status     messages.ExitStatus
	cause      messages.Cause
	err        messages.Error
	rusage     messages.Rusage
	ended      time.Time
	shell      int
	children   int
	oom        messages.Tristate
	settled    bool
	outputOpen bool
}

// pack packs a fact; former is one about the same job, or nil.
func pack(fact messages.CommandFact, former *packed) *packed {
	j := fact.Record()
	p := &packed{
		state: j.State, isolation: j.Isolation, backend: j.Backend, dir: j.Dir, output: j.Output,
		started: j.Started, deadline: j.Deadline, pid: j.PID, startTime: j.StartTime, seq: j.Seq,
		kind: uint8(jobKind(fact)), background: j.Background, waits: j.WaitingForInput, secret: j.WaitingForSecret,
	}
	who := identity{
		asked: asked{
			id: j.ID, uid: j.UID, scope: j.Scope, session: j.Session, principal: j.Principal, tag: j.Tag, name: j.Name,
			command: j.Command, description: j.Description, mode: j.Mode, terminal: j.Terminal, timeout: j.Timeout, created: j.Created,
		},
		argv: j.Argv, envDropped: j.EnvDropped, onFinish: j.OnFinish, flags: j.Flags,
	}
	end := ending{
		result: result{
			outcome: j.Outcome, status: j.Status, cause: j.Cause, err: j.Err, rusage: j.Rusage, ended: j.Ended,
			shell: j.Shell, children: j.Children, oom: j.OOM, settled: j.Settled, outputOpen: j.OutputOpen,
		},
		survivors: j.Survivors,
	}
	if former != nil && former.who.is(&who) {
		p.who = former.who
	} else {
		p.who = keep(who)
	}
	switch {
	case end.result == result{} && end.survivors == nil:
	case former != nil && former.end != nil && former.end.result == end.result && same(former.end.survivors, end.survivors):
		p.end = former.end
	default:
		p.end = keep(end)
	}
	return p
}

// keep is a copy of what is not always kept.
func keep[T any](v T) *T { return &v }

func (i *identity) is(other *identity) bool {
	return i.asked == other.asked && same(i.argv, other.argv) && same(i.envDropped, other.envDropped) &&
		same(i.onFinish, other.onFinish) && same(i.flags, other.flags)
}

// same reports whether two slices are one: those of a record are never changed.
func same[T any](a, b []T) bool {
	if len(a) == 0 {
		return len(b) == 0 && (a == nil) == (b == nil)
	}
	return len(a) == len(b) && &a[0] == &b[0]
}

// record is the record as it was.
func (p *packed) record() messages.Job {
	w := p.who
	j := messages.Job{
		ID: w.id, UID: w.uid, Scope: w.scope, Session: w.session, Principal: w.principal, Tag: w.tag, Name: w.name,
		Command: w.command, Argv: w.argv, Description: w.description, Mode: w.mode, Backend: p.backend,
		State: p.state, Background: p.background, Flags: w.flags, EnvDropped: w.envDropped,
		Timeout: w.timeout, Deadline: p.deadline, PID: p.pid, StartTime: p.startTime, Isolation: p.isolation,
		Terminal: w.terminal, Dir: p.dir, Created: w.created, Started: p.started,
		WaitingForInput: p.waits, WaitingForSecret: p.secret, Output: p.output, OnFinish: w.onFinish, Seq: p.seq,
	}
	if e := p.end; e != nil {
		j.Outcome, j.Status, j.Settled, j.Shell, j.Cause, j.Err = e.outcome, e.status, e.settled, e.shell, e.cause, e.err
		j.OOM, j.OutputOpen, j.Children, j.Survivors, j.Ended, j.Rusage = e.oom, e.outputOpen, e.children, e.survivors, e.ended, e.rusage
	}
	return j
}

// fact is the fact as it was.
func (p *packed) fact() messages.Fact { return p.over(p.record()).(messages.Fact) }

// over is the same fact over another record.
func (p *packed) over(j messages.Job) messages.CommandFact { return aboutJobs[p.kind].With(j) }
