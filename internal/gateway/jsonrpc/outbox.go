package jsonrpc

import (
	"io"
	"sync"
)

// outbox writes lines, one after another. A client that does not read blocks the writer and
// with it everything that sends, so memory is bounded by what runs. A message is rendered when
// it is written: until then it shares its texts with the tasks that they are of.
type outbox struct {
	lines   chan sent
	failed  chan struct{} // closed when a line could not be written
	stopped chan struct{} // closed by stop
	done    chan struct{} // closed when the writer has ended
	stop    func()        // drops what is not written by now
}

// rendering renders a message.
type rendering func() []byte

// sent is a line for the client: one message, or a batch.
type sent struct {
	messages []rendering
	batch    bool
	before   func() // called before the write; nil: nothing to do
}

// write writes the line, a batch message by message.
func (l sent) write(out io.Writer) error {
	for i, message := range l.messages {
		text := message()
		if l.batch {
			text = append([]byte{"[,"[min(i, 1)]}, text...)
		}
		if i == len(l.messages)-1 {
			if l.batch {
				text = append(text, ']')
			}
			text = append(text, '\n')
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

func newOutbox(out io.Writer) *outbox {
	b := &outbox{lines: make(chan sent), failed: make(chan struct{}), stopped: make(chan struct{}), done: make(chan struct{})}
	b.stop = sync.OnceFunc(func() { close(b.stopped) })
	go b.run(out)
	return b
}

func (b *outbox) run(out io.Writer) {
	defer close(b.done)
	for line := range b.lines {
		if line.before != nil {
			line.before()
		}
		if line.write(out) != nil {
			close(b.failed)
			return
		}
	}
}

// send hands over a line, or drops it if the writer has failed or was stopped.
func (b *outbox) send(line sent) {
	select {
	case b.lines <- line:
	case <-b.failed:
	case <-b.stopped:
	}
}

// close waits for the last line, unless the writer is stopped first. Nothing may be sent later.
func (b *outbox) close() {
	close(b.lines)
	select {
	case <-b.done:
	case <-b.stopped:
	}
}
