package fake

import (
	"errors"
	"fmt"
	"time"

	"troupe/messages"
	"troupe/spill"
)

// piece is output that was written and is not in its log yet.
type piece struct {
	stream messages.Stream
	data   []byte
}

// Write simulates output of the main process, or, after its exit, of a child that holds
// the output.
func (p *Process) Write(s messages.Stream, data string) bool {
	p.mu.Lock()
	defer p.unlock()
	if p.logs[s] == nil || p.phase == starting || p.phase == failed || p.closed || p.unknown || p.phase == exited && !p.leftovers.Output {
		return false
	}
	p.pipe = append(p.pipe, piece{s, []byte(data)})
	if !p.paused {
		p.capture()
	}
	return true
}

// Pending returns how many written bytes are not in a log yet.
func (p *Process) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, x := range p.pipe {
		n += len(x.data)
	}
	return n
}

// BlockLog simulates a log without room, or ends that. Output written meanwhile waits,
// and so does the result.
func (p *Process) BlockLog(s messages.Stream, blocked bool) bool {
	p.mu.Lock()
	defer p.unlock()
	if p.logs[s] == nil || p.closed || p.unknown || p.phase == starting || p.blocked[s] == blocked {
		return false
	}
	p.blocked[s] = blocked
	f := messages.LogBlocked{Stream: s, Blocked: blocked}
	if blocked {
		f.Message = "the output log cannot grow: no space left on device"
	}
	p.say(f)
	if !blocked && !p.paused {
		p.capture()
		p.beginIdle()
	}
	p.settleTree()
	return true
}

// capture moves written output into the logs, except blocked ones.
func (p *Process) capture() {
	var rest []piece
	for _, x := range p.pipe {
		if p.blocked[x.stream] {
			rest = append(rest, x)
			continue
		}
		p.idle.last = time.Now()
		n, err := p.logs[x.stream].Append(x.data)
		if errors.Is(err, spill.ErrQuota) {
			p.later = append(p.later, func() {
				p.stop(messages.Cause{By: messages.ByQuota, Reason: "its output reached its quota"}, p.Spec.Grace)
			})
			_, err = p.logs[x.stream].Append(x.data[n:])
		}
		if err != nil {
			rest = append(rest, piece{x.stream, x.data[n:]})
		}
	}
	p.pipe = rest
	for s := range p.credits {
		p.grew(s)
	}
}

// grew emits OutputGrew if the log is longer than the requested size.
func (p *Process) grew(s messages.Stream) {
	from, ok := p.credits[s]
	size := p.logs[s].State().Size
	if ok && size > from {
		delete(p.credits, s)
		p.say(messages.OutputGrew{Stream: s, Size: size})
	}
}

func (p *Process) watch(by *binding, s messages.Stream, from int64) {
	p.mu.Lock()
	defer p.unlock()
	if by != p.owner {
		return
	}
	if !p.has(s) {
		p.engine.violate("%s was asked for the growth of its %s, which it has not", p.ID, s)
		return
	}
	if p.closed || p.phase == failed {
		return
	}
	p.credits[s] = from
	if p.phase != starting {
		p.grew(s)
	}
}

func (p *Process) output(s messages.Stream) (spill.Log, error) {
	p.mu.Lock()
	made := p.logs[s] != nil
	p.mu.Unlock()
	switch {
	case !p.has(s):
		return nil, unavailable(fmt.Sprintf("the job has no stream %s", s))
	case !made:
		return nil, unavailable("the job has not begun: it has no output yet")
	}
	log, err := p.engine.store.Open(string(p.ID), uint8(s))
	if err != nil {
		return nil, unavailable("the output cannot be read: " + err.Error())
	}
	return log, nil
}

func unavailable(text string) error {
	return &messages.Error{Code: messages.OutputUnavailable, Message: text}
}

// seal closes the logs; output that was not stored is lost.
func (p *Process) seal() {
	p.pipe = nil
	clear(p.credits)
	for _, w := range p.logs {
		_ = w.Seal() // a repeated Seal is harmless
	}
}

func (p *Process) sizes() messages.Sizes {
	var sizes messages.Sizes
	for s, w := range p.logs {
		sizes[s] = w.State().Size
	}
	return sizes
}
