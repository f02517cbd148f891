package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"syscall"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a connection.
const (
	maxQueue  = 16               // lines that wait for the client to read; each update has up to 50 KB of text
	drainTime = 10 * time.Second // for the last lines, if the client does not read
)

var (
	errLeft   = errors.New("the client has left")
	errSilent = errors.New("the client does not answer")
	errStuck  = errors.New("the client does not read")
)

// conn sends messages to the client and matches its responses with requests.
type conn struct {
	log   *slog.Logger
	lines chan []byte

	flushing chan struct{} // closed when no more lines come
	written  chan struct{} // closed when all lines are written
	dead     chan struct{} // closed when lines are dropped; cause is set
	cause    error
	once     sync.Once

	mu    sync.Mutex
	calls map[int64]*call // not answered yet: four of each turn, and maxLate
	last  int64           // id of the last request
	left  bool            // no more responses come
}

func newConn(out io.Writer, log *slog.Logger) *conn {
	c := &conn{
		log: log, lines: make(chan []byte, maxQueue), calls: map[int64]*call{},
		flushing: make(chan struct{}), written: make(chan struct{}), dead: make(chan struct{}),
	}
	go c.write(out) // ends with flush, or when the client lets a write end
	return c
}

// write writes the lines until flush, or until one cannot be written.
func (c *conn) write(out io.Writer) {
	defer close(c.written)
	for {
		var line []byte
		select {
		case line = <-c.lines:
		case <-c.flushing:
			select {
			case line = <-c.lines:
			default:
				return
			}
		}
		if _, err := out.Write(line); err != nil {
			c.fail(err)
			return
		}
	}
}

// fail drops all further lines.
func (c *conn) fail(cause error) {
	c.once.Do(func() {
		c.cause = cause
		close(c.dead)
	})
}

// flush waits until the lines are written or dropped. Lines after it are dropped. A client that
// has left is no error.
func (c *conn) flush() error {
	close(c.flushing)
	select {
	case <-c.written:
	case <-c.dead:
	}
	c.fail(errLeft)
	if errors.Is(c.cause, errLeft) || errors.Is(c.cause, syscall.EPIPE) || errors.Is(c.cause, io.ErrClosedPipe) {
		return nil
	}
	return c.cause
}

// message is a message to the client.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// send queues a message and waits for space in the queue.
func (c *conn) send(m message) {
	m.Version = "2.0"
	var line bytes.Buffer
	to := json.NewEncoder(&line) // it ends the line, and replaces invalid UTF-8
	to.SetEscapeHTML(false)
	if err := to.Encode(m); err != nil {
		c.log.Error("a message cannot be encoded", "method", m.Method, "error", err)
		return
	}
	select {
	case c.lines <- line.Bytes():
	case <-c.dead:
	}
}

func (c *conn) notify(method string, params any) { c.send(message{Method: method, Params: params}) }

func (c *conn) answer(id jsontext.Value, result any) {
	c.send(message{ID: json.RawMessage(id), Result: result})
}

// refuse answers with an error. A message without a valid id is answered with the id null.
func (c *conn) refuse(id jsontext.Value, why *rpcError) {
	if id == nil {
		id = jsontext.Value("null")
	}
	c.send(message{ID: json.RawMessage(id), Error: why})
}

// call is a request to the client.
type call struct {
	conn  *conn
	id    int64
	reply chan reply // capacity 1
}

// reply is a response, or why none comes.
type reply struct {
	result jsontext.Value
	err    error
}

// call sends a request. If no response can come, the reply has an error at once.
func (c *conn) call(method string, params any) *call {
	c.mu.Lock()
	c.last++
	p := &call{conn: c, id: c.last, reply: make(chan reply, 1)}
	if c.left {
		p.reply <- reply{err: errLeft}
	} else {
		c.calls[p.id] = p
	}
	c.mu.Unlock()
	c.send(message{ID: strconv.AppendInt(nil, p.id, 10), Method: method, Params: params})
	return p
}

// drop ignores a later response.
func (p *call) drop() {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	delete(p.conn.calls, p.id)
}

// within waits for the response for a time, and drops it after that.
func (p *call) within(d time.Duration, result any) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case got := <-p.reply:
		return got.decode(result)
	case <-timer.C:
		p.drop()
		return errSilent
	}
}

// decode decodes the result of a request; nil: none is expected.
func (r reply) decode(result any) error {
	if r.err != nil || result == nil {
		return r.err
	}
	if err := jsonv2.Unmarshal(r.result, result); err != nil {
		return fmt.Errorf("the client sent an invalid result: %w", err)
	}
	return nil
}

// deliver passes a response to its request. A late one is ignored.
func (c *conn) deliver(f frame) {
	id, err := strconv.ParseInt(string(f.id), 10, 64)
	c.mu.Lock()
	p := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if err != nil || p == nil {
		c.log.Debug("a response to no request is ignored", "id", string(f.id))
		return
	}
	r := reply{result: f.result}
	if f.err != nil {
		r.err = f.err
	}
	p.reply <- r
}

// leave ends the wait for all responses.
func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	for id, p := range c.calls {
		delete(c.calls, id)
		p.reply <- reply{err: errLeft}
	}
}

func (c *conn) hasLeft() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}
