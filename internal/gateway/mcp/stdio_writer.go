package mcp

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Bounds of what a client on stdio has not read. Above them nothing more is read from it.
const (
	maxUnread      = 1024     // replies: as many as the requests of one line
	maxUnreadBytes = 16 << 20 // of them: a few of the largest
)

// flushPatience bounds the wait for a client that does not read its last replies. One that reads
// takes a line at once.
const flushPatience = 5 * time.Second

// stdioWriter writes the messages of a connection, a line each, in a goroutine of its own. A reply
// joins a queue and never waits for the client. Any other message waits for its turn after the
// replies: what is not read stays where it comes from. A stream of events holds one page then, and
// reads on from the journal.
type stdioWriter struct {
	out     io.WriteCloser
	sends   func(jsonrpc.Message) bool // whether a reply still goes to the client
	turns   chan []byte                // a line that is no reply, when its turn has come
	closing <-chan struct{}            // only the queue is still written
	ended   chan struct{}              // nothing is written any more
	written chan struct{}              // receives after each line

	mu    sync.Mutex
	queue []queuedReply
	bytes int
	ready chan struct{} // receives after the queue has grown
	room  chan struct{} // receives after it has shrunk
	err   error         // of a write
}

// queuedReply is a reply and its line. An error that answers no request has no message.
type queuedReply struct {
	message jsonrpc.Message
	line    []byte
}

func newStdioWriter(out io.WriteCloser, sends func(jsonrpc.Message) bool, closing <-chan struct{}) *stdioWriter {
	return &stdioWriter{
		out: out, sends: sends, turns: make(chan []byte), closing: closing, ended: make(chan struct{}),
		written: make(chan struct{}, 1), ready: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// run writes until closing and the end of the queue, or a failure.
func (w *stdioWriter) run() {
	defer func() {
		_ = w.out.Close() // a failure has been reported by a write
		close(w.ended)
	}()
	for {
		line, more := w.next()
		if !more {
			return
		}
		if _, err := w.out.Write(append(line, '\n')); err != nil {
			w.mu.Lock()
			w.err = err
			w.mu.Unlock()
			return
		}
		notify(w.written)
	}
}

// next returns the next line, replies first.
func (w *stdioWriter) next() (line []byte, more bool) {
	for {
		if line, more := w.pop(); more {
			return line, true
		}
		select {
		case <-w.ready:
		case line := <-w.turns:
			return line, true
		case <-w.closing:
			return w.pop()
		}
	}
}

// pop takes the first reply of the queue that its client still wants.
func (w *stdioWriter) pop() (line []byte, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) > 0 {
		first := w.queue[0]
		w.queue[0] = queuedReply{}
		w.queue = w.queue[1:]
		w.bytes -= len(first.line)
		notify(w.room)
		if first.message == nil || w.sends(first.message) {
			return first.line, true
		}
	}
	w.queue = nil
	return nil, false
}

// reply adds a reply to the queue. Its bound is that of the requests: awaitRoom.
func (w *stdioWriter) reply(m jsonrpc.Message, line []byte) error {
	select {
	case <-w.ended:
		return w.failure()
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, queuedReply{m, line})
	w.bytes += len(line)
	notify(w.ready)
	return nil
}

// turn hands over a line that is no reply, when the client has taken all before it.
func (w *stdioWriter) turn(ctx context.Context, line []byte) error {
	select {
	case w.turns <- line:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return io.ErrClosedPipe
	case <-w.ended:
		return w.failure()
	}
}

// awaitRoom waits until the client has read enough of its replies, and reports whether the
// connection is open.
func (w *stdioWriter) awaitRoom() bool {
	for {
		w.mu.Lock()
		full := len(w.queue) >= maxUnread || w.bytes >= maxUnreadBytes
		w.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-w.room:
		case <-w.closing:
			return false
		case <-w.ended:
			return false
		}
	}
}

// failure returns why nothing is written any more.
func (w *stdioWriter) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	return io.ErrClosedPipe
}

// finish waits until the queue is written, as long as the client reads.
func (w *stdioWriter) finish() {
	late := time.NewTimer(flushPatience)
	defer late.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-w.written:
			late.Reset(flushPatience)
		case <-late.C:
			_ = w.out.Close() // this ends a write that a file lets end
			return
		}
	}
}

// notify sends to a channel of one place, unless that is taken.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
