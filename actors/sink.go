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

// sink answers requests about the output of one job. It reads the logs; the engine reports
// only sizes to it. Its parent is the command, or the supervisor for a job that is over.
//
// It holds nothing unique. After a restart it asks for the logs again; before, it tells
// waiting followers to ask again.
type sink struct {
	deps    *Deps
	job     messages.JobID
	archive bool

	logsReady    bool            // the logs have come
	closed       bool            // no stream grows any more
	used         bool            // since the last archiveTick
	failed       *messages.Error // why a log could not be opened
	streamStates map[messages.Stream]*streamState

	terminal backends.Terminal // without an ID: none
	drawings []drawing         // requests whose screen is being drawn
	drawn    int               // number of the last one

	deferred []pending // requests from before the logs
	waiting  int       // requests that wait for a count
	flusher  *actor.PID
	idle     scheduler.CancelFunc
}

// streamState is a sink's state of one stream.
type streamState struct {
	stream    messages.Stream
	counting  bool
	credit    bool // an OutputGrew is requested
	log       spill.Log
	lines     spill.LineIndex
	waiting   []pending // for a line count, in order
	followers []follower
}

// pending is a request that cannot be answered yet.
type pending struct {
	request any
	sender  *actor.PID
	target  int64 // the byte up to which lines must be counted
}

const (
	// maxWaiting bounds the requests that wait in a sink.
	maxWaiting = 128
	// archiveIdle is how long the sink of a job that is over waits for another request before
	// it ends. It keeps the line counts meanwhile.
	archiveIdle = 30 * time.Second
)

// archiveTick says that an archive may be idle.
type archiveTick struct{ noDeadLetter }

// sinkProps returns the Props of the sink of a live job.
func sinkProps(d *Deps, job messages.JobID) *actor.Props {
	return d.apart(func() actor.Actor { return newSink(d, job, false) })
}

// archiveProps returns the Props of the sink of a job that is over. It sends childDone when it
// has been idle.
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

// start requests the logs. After a crash the parent repeats its other messages with them.
func (s *sink) start(ctx actor.Context) {
	if s.archive {
		s.idle = sendLater(ctx, archiveIdle, archiveTick{})
	}
	ctx.Request(ctx.Parent(), outputsWanted{})
}

// look ends an idle archive. It still answers until its parent stops it.
func (s *sink) look(ctx actor.Context) {
	if s.used || s.waiting > 0 || len(s.deferred)+len(s.drawings) > 0 {
		s.used = false
		s.idle = sendLater(ctx, archiveIdle, archiveTick{})
		return
	}
	ctx.Send(ctx.Parent(), childDone{who: ctx.Self()})
}

// request answers a request, or keeps it until the logs come.
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

// deferRequest keeps a request until the logs come: the job has not started, or this actor
// was restarted.
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

// take stores the logs and answers the deferred requests. New logs replace old ones. Line
// counts stay valid, since offsets never change.
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

// book returns the state of a stream, or why there is none.
func (s *sink) book(stream messages.Stream) (*streamState, *messages.Error) {
	if b := s.streamStates[stream]; b != nil {
		return b, nil
	}
	if s.failed != nil {
		return nil, s.failed
	}
	if stream > messages.Stderr {
		return nil, messages.NoStream(stream.String())
	}
	return nil, messages.NoSuchStream(s.job, stream)
}

// seal takes that no more bytes follow.
func (s *sink) seal(ctx actor.Context) {
	s.closed = true
	for _, b := range s.streamStates {
		s.notifyFollowers(ctx, b, 0)
	}
}

// flush answers flushed when no request waits. The job is over; later requests go to its
// archive. Deferred requests wait for the logs, unless the job has not started.
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

// release answers the followers with the current size, so that they ask again: this actor
// stops.
func (s *sink) release(ctx actor.Context) {
	for _, b := range s.streamStates {
		size := b.log.State().Size
		for _, f := range b.followers {
			s.tell(ctx, f.pid, messages.OutputGrew{Stream: b.stream, Size: size})
		}
		b.followers = nil
	}
}

// rejectDeferred answers the deferred requests: their clients have to ask again.
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

// abandon closes the logs and answers all waiting requests.
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

// tell sends a message to a client that is still reachable: followers may wait for hours.
func (s *sink) tell(ctx actor.Context, to *actor.PID, message any) {
	if reachable(ctx, to) {
		ctx.Send(to, message)
	}
}

// asError returns the coded error in err, or one with the given code.
func asError(err error, code messages.Code) *messages.Error {
	if coded, ok := errors.AsType[*messages.Error](err); ok {
		return coded
	}
	return &messages.Error{Code: code, Message: err.Error()}
}
