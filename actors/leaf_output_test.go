package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
	"troupe/spill"
)

// scribe plays the command of a job for its sink: it has the logs, writes them,
// and tells of growth where it was asked to.
type scribe struct {
	s       *stage
	job     messages.JobID
	writers map[messages.Stream]spill.Writer

	mu      sync.Mutex
	pid     *actor.PID // of the sink
	credits map[messages.Stream]int64
	asked   int // times that growth was asked for
	wanted  int // times that the logs were asked for
	mute    bool
	closed  bool
}

func (s *stage) scribe(job messages.JobID, streams ...messages.Stream) *scribe {
	c := &scribe{s: s, job: job, writers: map[messages.Stream]spill.Writer{}, credits: map[messages.Stream]int64{}}
	for _, stream := range streams {
		w, err := s.store.Create(string(job), uint8(stream), spill.Plan{})
		if err != nil {
			s.t.Fatal(err)
		}
		c.writers[stream] = w
	}
	return c
}

// outputs are logs for the sink to open.
func (c *scribe) outputs() outputs {
	out := outputs{closed: c.closed, open: func(stream messages.Stream) (spill.Log, error) {
		log, err := c.s.store.Open(string(c.job), uint8(stream))
		if err != nil {
			c.s.t.Errorf("open a log: %v", err)
		}
		return log, err
	}}
	for stream := range c.writers {
		out.of = append(out.of, stream)
	}
	return out
}

// through are outputs whose logs are what wrap makes of them.
func through(out outputs, wrap func(spill.Log) spill.Log) outputs {
	open := out.open
	out.open = func(stream messages.Stream) (spill.Log, error) {
		log, err := open(stream)
		return wrap(log), err
	}
	return out
}

// serve answers the sink as its parent.
func (c *scribe) serve(ctx actor.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := ctx.Message().(type) {
	case outputsWanted:
		c.wanted++
		clear(c.credits) // they were of the sink before this one
		c.pid = ctx.Sender()
		if !c.mute {
			ctx.Respond(c.outputs())
		}
	case watchOutput:
		c.asked++
		c.pid = ctx.Sender()
		if _, twice := c.credits[m.stream]; twice {
			c.s.t.Errorf("growth of %s was asked for twice", m.stream)
		}
		c.credits[m.stream] = m.from
		c.pay(m.stream)
	}
}

// pay tells of growth, if that was asked for and has happened.
func (c *scribe) pay(stream messages.Stream) {
	size := c.writers[stream].State().Size
	if from, ok := c.credits[stream]; ok && size > from {
		delete(c.credits, stream)
		c.s.sys.Root.Send(c.pid, messages.OutputGrew{Stream: stream, Size: size})
	}
}

func (c *scribe) write(stream messages.Stream, text string) {
	if _, err := c.writers[stream].Append([]byte(text)); err != nil {
		c.s.t.Fatalf("write: %v", err)
	}
	c.mu.Lock()
	c.pay(stream)
	c.mu.Unlock()
	c.s.settle()
}

// end seals the logs and says so to the sink.
func (c *scribe) end(sink *actor.PID) {
	for _, w := range c.writers {
		if err := w.Seal(); err != nil {
			c.s.t.Fatal(err)
		}
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.s.sys.Root.Send(sink, outputClosed{})
	c.s.settle()
}

// credit is how often growth was asked for so far.
func (c *scribe) credit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}
