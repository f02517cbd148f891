package journal

import (
	"time"

	"troupe/messages"
)

// packedJob is a fact about a job in a Memory. Records are large and mostly equal
// between the facts of one job. The facts share unchanged parts, and omit empty ones.
type packedJob struct {
	who   *packedIdentity
	start *packedStart // nil: all empty
	end   *packedEnd   // nil: all empty

	output     []messages.StreamOutput
	state      messages.State
	seq        messages.Seq
	kind       uint8 // from jobKind
	background bool
	waits      bool
	secret     bool
}

// packedIdentity holds the fields that seldom change. In this and the other parts the
// embedded struct is comparable.
type packedIdentity struct {
	packedRequest
	argv []string
	rare *packedRare // nil: all empty
}

type packedRequest struct {
	id       messages.JobID
	uid      messages.UID
	scope    messages.ScopePath
	session  messages.SessionID
	command  string
	backend  string
	mode     messages.Mode
	created  time.Time
	timeout  time.Duration
	terminal messages.Terminal
}

// packedRare holds fields that most jobs leave empty.
type packedRare struct {
	labels
	envDropped []string
	onFinish   []messages.Notice
	flags      []messages.Flag
}

type labels struct {
	principal   messages.Principal
	tag         string
	name        string
	description string
}

// packedStart holds the fields set at the start of a job.
type packedStart struct {
	dir       string
	isolation messages.Isolation
	started   time.Time
	deadline  time.Time
	startTime uint64
	pid       int
}

// packedEnd holds the fields set at the end of a job.
type packedEnd struct {
	outcome    messages.Outcome
	code       *int
	signal     string
	rusage     messages.Rusage
	ended      time.Time
	children   int
	failure    *packedFailure // nil: none
	oom        messages.Tristate
	outputOpen bool
}

// packedFailure holds the fields of a job that did not end by itself.
type packedFailure struct {
	packedReason
	survivors []messages.Survivor
}

type packedReason struct {
	cause messages.Cause
	err   messages.Error
}

// pack packs a fact. former is an earlier fact about the same job, or nil.
func pack(fact messages.CommandFact, former *packedJob) *packedJob {
	j := fact.Record()
	if former == nil {
		former = &packedJob{who: &packedIdentity{}}
	}
	return &packedJob{
		who: identityOf(&j, former.who), start: startOf(&j, former.start), end: endOf(&j, former.end),
		output: j.Output, state: j.State, seq: j.Seq, kind: uint8(jobKind(fact)),
		background: j.Background, waits: j.WaitingForInput, secret: j.WaitingForSecret,
	}
}

// identityOf returns former if nothing has changed, like the functions below.
func identityOf(j *messages.Job, former *packedIdentity) *packedIdentity {
	now := packedIdentity{
		packedRequest: packedRequest{
			id: j.ID, uid: j.UID, scope: j.Scope, session: j.Session, command: j.Command, backend: j.Backend, mode: j.Mode,
			created: j.Created, timeout: j.Timeout, terminal: j.Terminal,
		},
		argv: j.Argv, rare: rareOf(j, former.rare),
	}
	if now.packedRequest == former.packedRequest && same(now.argv, former.argv) && now.rare == former.rare {
		return former
	}
	return keep(now)
}

func rareOf(j *messages.Job, former *packedRare) *packedRare {
	now := packedRare{
		labels:     labels{principal: j.Principal, tag: j.Tag, name: j.Name, description: j.Description},
		envDropped: j.EnvDropped, onFinish: j.OnFinish, flags: j.Flags,
	}
	switch {
	case now.labels == labels{} && now.envDropped == nil && now.onFinish == nil && now.flags == nil:
		return nil
	case former != nil && now.labels == former.labels && same(now.envDropped, former.envDropped) &&
		same(now.onFinish, former.onFinish) && same(now.flags, former.flags):
		return former
	}
	return keep(now)
}

func startOf(j *messages.Job, former *packedStart) *packedStart {
	return sharedOrNew(former, packedStart{
		dir: j.Dir, isolation: j.Isolation,
		started: j.Started, deadline: j.Deadline, startTime: j.StartTime, pid: j.PID,
	})
}

func endOf(j *messages.Job, former *packedEnd) *packedEnd {
	var before *packedFailure
	if former != nil {
		before = former.failure
	}
	return sharedOrNew(former, packedEnd{
		outcome: j.End.Outcome, code: j.End.Code, signal: j.End.Signal, rusage: j.End.Rusage, ended: j.End.At, children: j.End.Children,
		failure: failureOf(j, before), oom: j.End.OOM, outputOpen: j.OutputOpen,
	})
}

func failureOf(j *messages.Job, former *packedFailure) *packedFailure {
	now := packedFailure{packedReason: packedReason{cause: j.End.Cause, err: j.End.Err}, survivors: j.End.Survivors}
	switch {
	case now.packedReason == packedReason{} && now.survivors == nil:
		return nil
	case former != nil && now.packedReason == former.packedReason && same(now.survivors, former.survivors):
		return former
	}
	return keep(now)
}

// sharedOrNew returns nil for a zero now, former if it is equal, otherwise a copy of
// now.
func sharedOrNew[T comparable](former *T, now T) *T {
	var nothing T
	switch {
	case now == nothing:
		return nil
	case former != nil && *former == now:
		return former
	}
	return keep(now)
}

// keep returns a pointer to a copy of v.
func keep[T any](v T) *T { return &v }

// same reports whether two slices are identical. Slices of a record are never modified.
func same[T any](a, b []T) bool {
	if len(a) == 0 {
		return len(b) == 0 && (a == nil) == (b == nil)
	}
	return len(a) == len(b) && &a[0] == &b[0]
}

// record returns the unpacked record.
func (p *packedJob) record() messages.Job {
	w := p.who
	j := messages.Job{
		ID: w.id, UID: w.uid, Scope: w.scope, Session: w.session, Command: w.command, Argv: w.argv, Backend: w.backend, Mode: w.mode,
		State: p.state, Background: p.background, Timeout: w.timeout, Terminal: w.terminal, Created: w.created,
		WaitingForInput: p.waits, WaitingForSecret: p.secret, Output: p.output, Seq: p.seq,
	}
	if r := w.rare; r != nil {
		j.Principal, j.Tag, j.Name, j.Description = r.principal, r.tag, r.name, r.description
		j.EnvDropped, j.OnFinish, j.Flags = r.envDropped, r.onFinish, r.flags
	}
	if b := p.start; b != nil {
		j.Dir, j.Isolation, j.Started, j.Deadline, j.StartTime, j.PID = b.dir, b.isolation, b.started, b.deadline, b.startTime, b.pid
	}
	if e := p.end; e != nil {
		j.End.Outcome, j.End.Code, j.End.Signal, j.End.OOM = e.outcome, e.code, e.signal, e.oom
		j.OutputOpen, j.End.Children, j.End.At, j.End.Rusage = e.outputOpen, e.children, e.ended, e.rusage
		if t := e.failure; t != nil {
			j.End.Cause, j.End.Err, j.End.Survivors = t.cause, t.err, t.survivors
		}
	}
	return j
}

// fact returns the unpacked fact.
func (p *packedJob) fact() messages.Fact { return p.over(p.record()).(messages.Fact) }

// over returns the same fact with another record.
func (p *packedJob) over(j messages.Job) messages.CommandFact { return aboutJobs[p.kind].With(j) }
