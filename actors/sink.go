package actors

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// sink answers what is asked about the output of one job. It reads the logs; it
// learns sizes and never bytes from the engine. It speaks with those who ask and
// with its parent: the command, or the supervisor for a job that is over.
//
// It holds nothing unique: restarted, it asks for the logs again, and whoever
// waited for growth was told to ask again.
type sink struct {
	deps    *Deps
	job     messages.JobID
	archive bool

	logsReady    bool // the logs came
	closed       bool // no stream grows any more
	used         bool // since the last look at it
	failed       *messages.Error
	streamStates map[messages.Stream]*streamState

	terminal backends.Terminal // without an ID: none
	drawings []drawing         // screens that are being drawn
	drawn    int               // the number of the last one

	deferred []pending // requests from before the logs came
	waiting  int       // requests that wait for a count
	flusher  *actor.PID
	idle     scheduler.CancelFunc
}

// streamState is what a sink knows of one stream.
type streamState struct {
	stream    messages.Stream
	counting  bool
	credit    bool // the engine will tell of growth
	log       spill.Log
	lines     spill.LineIndex
	waiting   []pending // in their order
	followers []follower
}

// pending is a request that cannot be answered yet.
type pending struct {
	request any
	sender  *actor.PID
	target  int64 // the byte up to which lines must be counted
}

const (
	// maxWaiting bounds the requests that wait in a sink: each holds a client, and
	// more of them than a person or a page has is a fault.
	maxWaiting = 128
	// archiveIdle is how long the reader of a job that is over stays for the next
	// question, for its line counts; then it lets its logs go.
	archiveIdle = 30 * time.Second
)

// archiveTick looks whether an archive is still used.
type archiveTick struct{ noDeadLetter }

// sinkProps are of the reader of a live job, for its command.
func sinkProps(d *Deps, job messages.JobID) *actor.Props {
	return d.apart(func() actor.Actor { return newSink(d, job, false) })
}

// archiveProps are of the reader of a job that is over, for the supervisor. It
// says ended when nobody has asked for a while.
func archiveProps(d *Deps, job messages.JobID) *actor.Props {
	return d.apart(func() actor.Actor { return newSink(d, job, true) })
}

func newSink(d *Deps, job messages.JobID, archive bool) *sink {
	return &sink{deps: d, job: job, archive: archive, streamStates: map[messages.Stream]*streamState{}}
}

// Receive implements actor.Actor.
func (s *sink) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case *actor.Stopping, *actor.Restarting:
		s.abandon(ctx)
	case messages.ReadOutput, messages.FollowOutput, messages.ReadScreen:
		s.request(ctx, pending{request: msg, sender: ctx.Sender()})
	case outputs:
		s.take(ctx, msg)
	case outputClosed:
		s.seal(ctx)
	case messages.OutputGrew:
		s.onGrowth(ctx, msg)
	case screenDrawn:
		s.show(ctx, msg)
	case terminalSized:
		s.terminal.Sizes = msg.sizes
	case countLines:
		s.count(ctx, msg)
	case flushSink:
		s.flush(ctx, msg)
	case archiveTick:
		s.look(ctx)
	default:
		unhandled(ctx, s.deps)
	}
}

// start asks for the logs, each time: what else was told to this actor before it
// failed, its parent tells again.
func (s *sink) start(ctx actor.Context) {
	if s.archive {
		s.idle = sendLater(ctx, archiveIdle, archiveTick{})
	}
	ctx.Request(ctx.Parent(), outputsWanted{})
}

// look ends an archive that nobody has used lately. It still answers until its
// parent stops it.
func (s *sink) look(ctx actor.Context) {
	if s.used || s.waiting > 0 || len(s.deferred)+len(s.drawings) > 0 {
		s.used = false
		s.idle = sendLater(ctx, archiveIdle, archiveTick{})
		return
	}
	ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
}

// request answers a request, or lets it wait.
func (s *sink) request(ctx actor.Context, p pending) {
	s.used = true
	if p.sender == nil {
		return
	}
	if !s.logsReady {
		s.deferRequest(ctx, p)
		return
	}
	switch r := p.request.(type) {
	case messages.ReadOutput:
		s.read(ctx, p, r)
	case messages.FollowOutput:
		s.follow(ctx, p, r)
	case messages.ReadScreen:
		s.screen(ctx, p)
	}
}

// deferRequest keeps a request until the logs come: the job waits for its start, or
// this actor was restarted.
func (s *sink) deferRequest(ctx actor.Context, p pending) {
	if len(s.deferred) >= maxWaiting {
		s.refuse(ctx, p, &messages.Error{
			Code: messages.OutputUnavailable, Reason: "waiting",
			Message: fmt.Sprintf("job %s: limit of %d requests for its output reached", s.job, len(s.deferred)), Hint: "ask again when it runs",
		})
		return
	}
	s.deferred = append(s.deferred, p)
}

// take begins to read. Logs that come again replace those that were there; what
// was counted in them stays right, since offsets never change.
func (s *sink) take(ctx actor.Context, m outputs) {
	s.logsReady, s.failed, s.closed, s.terminal = true, nil, s.closed || m.closed, m.terminal
	for _, stream := range m.of {
		log, err := m.open(stream)
		if err != nil {
			s.failed = asError(err, messages.OutputUnavailable)
			continue
		}
		b := s.streamStates[stream]
		if b == nil {
			b = &streamState{stream: stream}
			s.streamStates[stream] = b
		} else {
			b.log.Close()
		}
		b.log, b.credit = log, false
		s.notifyFollowers(ctx, b, 0)
	}
	early := s.deferred
	s.deferred = nil
	for _, p := range early {
		s.request(ctx, p)
	}
	s.answerFlush(ctx)
}

// book finds a stream, or says why there is none.
func (s *sink) book(stream messages.Stream) (*streamState, *messages.Error) {
	if b := s.streamStates[stream]; b != nil {
		return b, nil
	}
	if s.failed != nil {
		return nil, s.failed
	}
	if stream > messages.Stderr {
		return nil, messages.Invalid("stream", fmt.Sprintf("invalid stream %d: use merged, stdout or stderr", stream))
	}
	return nil, messages.NoSuchStream(s.job, stream)
}

// seal hears that no byte follows.
func (s *sink) seal(ctx actor.Context) {
	s.closed = true
	for _, b := range s.streamStates {
		s.notifyFollowers(ctx, b, 0)
	}
}

// flush asks to be told when nobody waits for an answer any more: the job is
// over, and the next request finds its archive. Who came before the logs is
// answered from them: they are on their way, unless there are none.
func (s *sink) flush(ctx actor.Context, m flushSink) {
	s.flusher = ctx.Sender()
	if m.notStarted {
		s.rejectDeferred(ctx)
	}
	s.answerFlush(ctx)
}

func (s *sink) answerFlush(ctx actor.Context) {
	if s.flusher == nil {
		return
	}
	s.release(ctx)
	if s.waiting == 0 && len(s.deferred)+len(s.drawings) == 0 {
		ctx.Send(s.flusher, flushed{})
		s.flusher = nil
	}
}

// release lets those go who wait for growth that this actor will not live to
// see: they are told to ask again.
func (s *sink) release(ctx actor.Context) {
	for _, b := range s.streamStates {
		size := b.log.State().Size
		for _, f := range b.followers {
			s.tell(ctx, f.pid, messages.OutputGrew{Stream: b.stream, Size: size})
		}
		b.followers = nil
	}
}

// rejectDeferred tells those who came before the logs to ask again.
func (s *sink) rejectDeferred(ctx actor.Context) {
	for _, p := range s.deferred {
		if r, ok := p.request.(messages.FollowOutput); ok {
			s.tell(ctx, p.sender, messages.OutputGrew{Stream: r.Stream})
			continue
		}
		s.refuse(ctx, p, askAgain())
	}
	s.deferred = nil
}

// abandon lets go of the logs. Nobody who waits is left without an answer.
func (s *sink) abandon(ctx actor.Context) {
	if s.idle != nil {
		s.idle()
	}
	s.release(ctx)
	s.rejectDeferred(ctx)
	for _, b := range s.streamStates {
		for _, p := range b.waiting {
			s.refuse(ctx, p, askAgain())
		}
		b.log.Close()
	}
	for _, d := range s.drawings {
		s.refuse(ctx, d.pending, askAgain())
	}
	clear(s.streamStates)
}

func askAgain() *messages.Error {
	return &messages.Error{
		Code: messages.OutputUnavailable, Reason: "moved", Message: "the reader of this output was replaced while the request waited",
		Hint: "ask again",
	}
}

func (s *sink) refuse(ctx actor.Context, p pending, err *messages.Error) {
	if r, ok := p.request.(messages.Refusable); ok {
		s.tell(ctx, p.sender, r.Refuse(err))
	}
}

// tell answers somebody, unless he has left: a follower may wait for hours.
func (s *sink) tell(ctx actor.Context, to *actor.PID, message any) {
	if reachable(ctx, to) {
		ctx.Send(to, message)
	}
}

// asError is the coded error in err, or one of the given code.
func asError(err error, code messages.Code) *messages.Error {
	var coded *messages.Error
	if errors.As(err, &coded) {
		return coded
	}
	return &messages.Error{Code: code, Message: err.Error()}
}
