package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// tail follows the output of one job for a watch (parent), through which it
// asks the job's sink: by the byte for a pattern, by the size for silence. It
// says Met or Hopeless once.
type tail struct {
	deps    *Deps
	job     messages.JobID
	quiet   time.Duration // how long a silence must last; 0: there is a pattern
	streams map[messages.Stream]*stretch

	silence scheduler.CancelFunc
	gen     int // of the silence
	check   scheduler.CancelFunc
	checks  int
	strikes int // refusals in a row
	over    bool
}

// stretch is how far one stream was looked at.
type stretch struct {
	at    int64 // the next byte
	find  *finder
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
	silent struct {
		quiet
		gen int
	}
	tailCheck struct {
		quiet
		number int
		all    bool // ask whatever is open, however long it is
	}
	tailFailed struct {
		quiet
		job messages.JobID
		err messages.Error
	}
)

func tailProps(d *Deps, job messages.JobID, streams []messages.Stream, c messages.Condition) *actor.Props {
	return d.apart(func() actor.Actor {
		t := &tail{deps: d, job: job, streams: map[messages.Stream]*stretch{}}
		if c.Kind == messages.UntilQuiet {
			t.quiet = c.Quiet
		}
		for _, stream := range streams {
			find, _ := newFinder(c.Pattern) // it was checked; nobody asks it for silence
			t.streams[stream] = &stretch{find: find}
		}
		return t
	})
}

// Receive implements actor.Actor.
func (t *tail) Receive(ctx actor.Context) {
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
	case silent:
		if msg.gen == t.gen {
			t.say(ctx, lifecycle.Met{Job: t.job})
		}
	case tailCheck:
		t.lookAfter(ctx, msg)
	default:
		unhandled(ctx, t.deps)
	}
}

func (t *tail) start(ctx actor.Context) {
	if t.quiet > 0 {
		t.listen(ctx)
	}
	for stream, s := range t.streams {
		t.ask(ctx, stream, s, t.quiet == 0)
	}
	t.arm(ctx, tailPatience, false)
}

// ask asks for the bytes that follow, or to be told when there are any.
func (t *tail) ask(ctx actor.Context, stream messages.Stream, s *stretch, bytes bool) {
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
func (t *tail) page(ctx actor.Context, p messages.OutputPage) {
	s := t.streams[p.Stream]
	if s == nil {
		return
	}
	if asked, reading := s.asked.(messages.ReadOutput); !reading || asked.View.Offset != p.From {
		return
	}
	t.strikes = 0
	s.at = p.To
	more := p.To < p.Bytes
	switch {
	case s.find.page(p.Data, p.From, p.Gaps, more):
		t.say(ctx, lifecycle.Met{Job: t.job})
	case !more && p.Closed:
		t.end(ctx, s)
	default:
		t.ask(ctx, p.Stream, s, more)
	}
}

// grew reads what is new, or begins to listen anew.
func (t *tail) grew(ctx actor.Context, m messages.OutputGrew) {
	s := t.streams[m.Stream]
	if s == nil {
		return
	}
	if _, following := s.asked.(messages.FollowOutput); !following {
		return
	}
	t.strikes = 0
	if t.quiet > 0 && m.Size > s.at {
		s.at = m.Size
		t.listen(ctx)
	}
	t.ask(ctx, m.Stream, s, t.quiet == 0)
}

func (t *tail) sealed(ctx actor.Context, m messages.OutputEnded) {
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
func (t *tail) end(ctx actor.Context, s *stretch) {
	s.asked = nil
	for _, other := range t.streams {
		if other.asked != nil {
			return
		}
	}
	t.say(ctx, lifecycle.Hopeless{Job: t.job})
}

// say says the one thing this tail was made to find out.
func (t *tail) say(ctx actor.Context, what any) {
	if t.over {
		return
	}
	t.over = true
	t.abandon()
	for _, s := range t.streams {
		s.asked = nil
	}
	ctx.Send(ctx.Parent(), what)
}

// listen begins to wait for a silence.
func (t *tail) listen(ctx actor.Context) {
	if t.silence != nil {
		t.silence()
	}
	t.gen++
	t.silence = later(ctx, t.quiet, silent{gen: t.gen})
}

// refused asks again soon, for a while.
func (t *tail) refused(ctx actor.Context, err messages.Error) {
	if t.strikes++; t.strikes > tailStrikes {
		t.say(ctx, tailFailed{job: t.job, err: err})
		return
	}
	t.arm(ctx, tailPause, true)
}

func (t *tail) arm(ctx actor.Context, after time.Duration, all bool) {
	if t.over {
		return
	}
	if t.check != nil {
		t.check()
	}
	t.checks++
	t.check = later(ctx, after, tailCheck{number: t.checks, all: all})
}

// lookAfter asks again what has been open since before the last check.
func (t *tail) lookAfter(ctx actor.Context, m tailCheck) {
	if m.number != t.checks || t.over {
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

func (t *tail) abandon() {
	for _, cancel := range []scheduler.CancelFunc{t.silence, t.check} {
		if cancel != nil {
			cancel()
		}
	}
	t.gen++
	t.checks++
}
