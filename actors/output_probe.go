package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// outputProbe follows the output of one job for a waiter (parent), which passes its requests
// to the job's sink. It reads the bytes for a pattern, or follows the size for quiet. It sends
// Met or Impossible once.
type outputProbe struct {
	deps    *Deps
	job     messages.JobID
	quiet   time.Duration // how long no output must come; 0: wait for a pattern
	streams map[messages.Stream]*scanPosition

	silence  scheduler.CancelFunc
	gen      int // of silence
	check    scheduler.CancelFunc
	checks   int
	retries  int // refusals in a row
	reported bool
}

// scanPosition is how far one stream is scanned.
type scanPosition struct {
	at    int64 // the next byte
	find  *patternScanner
	asked any // the pending request; nil: the stream has ended
	since int // number of the check when it was sent
}

// Limits of an output probe.
const (
	// outputProbePage bounds the bytes that one message scans: a few milliseconds of the slowest
	// pattern.
	outputProbePage = 128 << 10
	// outputProbeTimeout is how long a request may be unanswered before it is sent again: an actor
	// that crashes can lose it. A sink keeps one request of a follower for a stream, so a
	// repeat costs nothing.
	outputProbeTimeout = 30 * time.Second
	// outputProbePause is the time before a refused request is repeated. A hand-over or a new actor
	// takes less.
	outputProbePause = time.Second
	// outputProbeRetries bounds the refusals in a row.
	outputProbeRetries = 5
)

// Timers of the probe, and its failure for the waiter.
type (
	quietTick struct {
		noDeadLetter
		gen int
	}
	outputProbeTick struct {
		noDeadLetter
		number int
		all    bool // repeat all pending requests, however new
	}
	outputProbeFailed struct {
		noDeadLetter
		job messages.JobID
		err messages.Error
	}
)

func outputProbeProps(d *Deps, job messages.JobID, streams []messages.Stream, c messages.Condition) *actor.Props {
	return d.apart(func() actor.Actor {
		t := &outputProbe{deps: d, job: job, streams: map[messages.Stream]*scanPosition{}}
		if c.Kind == messages.UntilQuiet {
			t.quiet = c.Quiet
		}
		for _, stream := range streams {
			find, _ := newPatternScanner(c.Pattern) // checked before; quiet does not use it
			t.streams[stream] = &scanPosition{find: find}
		}
		return t
	})
}

// Receive implements actor.Actor.
func (t *outputProbe) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		t.start(ctx)
	case *actor.Stopping, *actor.Restarting:
		t.abandon()
	case messages.OutputPage:
		t.page(ctx, msg)
	case messages.OutputGrew:
		t.grew(ctx, msg)
	case messages.OutputEnded:
		t.sealed(ctx, msg)
	case messages.RequestRejected:
		t.refused(ctx, msg.Err)
	case quietTick:
		if msg.gen == t.gen {
			t.report(ctx, lifecycle.Met{Job: t.job})
		}
	case outputProbeTick:
		t.lookAfter(ctx, msg)
	default:
		unhandled(ctx, t.deps)
	}
}

func (t *outputProbe) start(ctx actor.Context) {
	if t.quiet > 0 {
		t.listen(ctx)
	}
	for stream, s := range t.streams {
		t.ask(ctx, stream, s, t.quiet == 0)
	}
	t.arm(ctx, outputProbeTimeout, false)
}

// ask requests the next bytes, or growth.
func (t *outputProbe) ask(ctx actor.Context, stream messages.Stream, s *scanPosition, bytes bool) {
	s.asked = messages.FollowOutput{Job: t.job, Stream: stream, From: s.at}
	if bytes {
		s.asked = messages.ReadOutput{
			Job: t.job, Stream: stream, View: messages.View{Kind: messages.ViewRange, Offset: s.at, Bytes: outputProbePage},
		}
	}
	s.since = t.checks
	ctx.Request(ctx.Parent(), s.asked)
}

// page scans bytes. A repeated request may get two answers; an answer that does not start at
// the current position is an old one.
func (t *outputProbe) page(ctx actor.Context, p messages.OutputPage) {
	s := t.streams[p.Stream]
	if s == nil {
		return
	}
	if asked, reading := s.asked.(messages.ReadOutput); !reading || asked.View.Offset != p.From {
		return
	}
	t.retries = 0
	s.at = p.To
	more := p.To < p.Bytes
	switch {
	case s.find.page(p.Data, p.From, p.Gaps, more):
		t.report(ctx, lifecycle.Met{Job: t.job})
	case !more && p.Closed:
		t.end(ctx, s)
	default:
		t.ask(ctx, p.Stream, s, more)
	}
}

// grew reads the new bytes, or restarts the timer of quiet.
func (t *outputProbe) grew(ctx actor.Context, m messages.OutputGrew) {
	s := t.streams[m.Stream]
	if s == nil {
		return
	}
	if _, following := s.asked.(messages.FollowOutput); !following {
		return
	}
	t.retries = 0
	if t.quiet > 0 && m.Size > s.at {
		s.at = m.Size
		t.listen(ctx)
	}
	t.ask(ctx, m.Stream, s, t.quiet == 0)
}

func (t *outputProbe) sealed(ctx actor.Context, m messages.OutputEnded) {
	s := t.streams[m.Stream]
	if s == nil || s.asked == nil {
		return
	}
	if t.quiet == 0 && m.Size > s.at {
		t.ask(ctx, m.Stream, s, true)
		return
	}
	t.end(ctx, s)
}

// end reports Impossible when all streams have ended.
func (t *outputProbe) end(ctx actor.Context, s *scanPosition) {
	s.asked = nil
	for _, other := range t.streams {
		if other.asked != nil {
			return
		}
	}
	t.report(ctx, lifecycle.Impossible{Job: t.job})
}

// report sends the one result.
func (t *outputProbe) report(ctx actor.Context, what any) {
	if t.reported {
		return
	}
	t.reported = true
	t.abandon()
	for _, s := range t.streams {
		s.asked = nil
	}
	ctx.Send(ctx.Parent(), what)
}

// listen starts the timer of quiet.
func (t *outputProbe) listen(ctx actor.Context) {
	if t.silence != nil {
		t.silence()
	}
	t.gen++
	t.silence = sendLater(ctx, t.quiet, quietTick{gen: t.gen})
}

// refused repeats the request after a pause, at most outputProbeRetries times.
func (t *outputProbe) refused(ctx actor.Context, err messages.Error) {
	if t.retries++; t.retries > outputProbeRetries {
		t.report(ctx, outputProbeFailed{job: t.job, err: err})
		return
	}
	t.arm(ctx, outputProbePause, true)
}

func (t *outputProbe) arm(ctx actor.Context, after time.Duration, all bool) {
	if t.reported {
		return
	}
	if t.check != nil {
		t.check()
	}
	t.checks++
	t.check = sendLater(ctx, after, outputProbeTick{number: t.checks, all: all})
}

// lookAfter repeats requests that are pending since before the last check.
func (t *outputProbe) lookAfter(ctx actor.Context, m outputProbeTick) {
	if m.number != t.checks || t.reported {
		return
	}
	for _, s := range t.streams {
		if s.asked != nil && (m.all || s.since < t.checks) {
			s.since = t.checks
			ctx.Request(ctx.Parent(), s.asked)
		}
	}
	t.arm(ctx, outputProbeTimeout, false)
}

func (t *outputProbe) abandon() {
	for _, cancel := range []scheduler.CancelFunc{t.silence, t.check} {
		if cancel != nil {
			cancel()
		}
	}
	t.gen++
	t.checks++
}
