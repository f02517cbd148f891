package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// outputProbe follows the output of one job for a watch (parent), through which it
// asks the job's sink: by the byte for a pattern, by the size for silence. It
// says Met or Hopeless once.
type outputProbe struct {
	deps    *Deps
	job     messages.JobID
	quiet   time.Duration // how long a silence must last; 0: there is a pattern
	streams map[messages.Stream]*scanPosition

	silence  scheduler.CancelFunc
	gen      int // of the silence
	check    scheduler.CancelFunc
	checks   int
	retries  int // refusals in a row
	reported bool
}

// scanPosition is how far one stream was looked at.
type scanPosition struct {
	at    int64 // the next byte
	find  *patternScanner
	asked any // what is to be answered; nil: no byte follows
	since int // the check before which it was asked
}

// Of the questions of a tail.
const (
	// tailPage is how much is looked at in one message: a few milliseconds of the
	// slowest pattern.
	tailPage = 128 << 10
	// tailPatience is how long a question is believed to be held. It may have been
	// lost with an actor; asking again costs nothing, since a sink keeps one
	// question of a follower for a stream.
	tailPatience = 30 * time.Second
	// tailPause is before a refused question is asked again: a job that is being
	// moved or given a new actor has one by then.
	tailPause = time.Second
	// tailStrikes is how often a question may be refused before the client is told.
	tailStrikes = 5
)

// What a tail says to itself and to its watch.
type (
	quietTick struct {
		noDeadLetter
		gen int
	}
	outputProbeTick struct {
		noDeadLetter
		number int
		all    bool // ask whatever is open, however long it is
	}
	outputProbeFailed struct {
		noDeadLetter
		job messages.JobID
		err messages.Error
	}
)

func tailProps(d *Deps, job messages.JobID, streams []messages.Stream, c messages.Condition) *actor.Props {
	return d.apart(func() actor.Actor {
		t := &outputProbe{deps: d, job: job, streams: map[messages.Stream]*scanPosition{}}
		if c.Kind == messages.UntilQuiet {
			t.quiet = c.Quiet
		}
		for _, stream := range streams {
			find, _ := newFinder(c.Pattern) // it was checked; nobody asks it for silence
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
	t.arm(ctx, tailPatience, false)
}

// ask asks for the bytes that follow, or to be told when there are any.
func (t *outputProbe) ask(ctx actor.Context, stream messages.Stream, s *scanPosition, bytes bool) {
	s.asked = messages.FollowOutput{Job: t.job, Stream: stream, From: s.at}
	if bytes {
		s.asked = messages.ReadOutput{
			Job: t.job, Stream: stream, View: messages.View{Kind: messages.ViewRange, Offset: s.at, Bytes: tailPage},
		}
	}
	s.since = t.checks
	ctx.Request(ctx.Parent(), s.asked)
}

// page looks at bytes. An answer to a question that was asked again may come
// twice; what does not begin where this stretch ends is an old one.
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

// grew reads what is new, or begins to listen anew.
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

// end says, when no stream can bring anything more, that there is no hope.
func (t *outputProbe) end(ctx actor.Context, s *scanPosition) {
	s.asked = nil
	for _, other := range t.streams {
		if other.asked != nil {
			return
		}
	}
	t.report(ctx, lifecycle.Impossible{Job: t.job})
}

// report says the one thing this tail was made to find out.
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

// listen begins to wait for a silence.
func (t *outputProbe) listen(ctx actor.Context) {
	if t.silence != nil {
		t.silence()
	}
	t.gen++
	t.silence = sendLater(ctx, t.quiet, quietTick{gen: t.gen})
}

// refused asks again soon, for a while.
func (t *outputProbe) refused(ctx actor.Context, err messages.Error) {
	if t.retries++; t.retries > tailStrikes {
		t.report(ctx, outputProbeFailed{job: t.job, err: err})
		return
	}
	t.arm(ctx, tailPause, true)
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

// lookAfter asks again what has been open since before the last check.
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
	t.arm(ctx, tailPatience, false)
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
