package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/web"
)

// maxBatch bounds the messages of one line.
const maxBatch = 1000

var errBatch = fmt.Errorf("a batch has from 1 to %d messages", maxBatch)

// stdioTransport is the transport of stdio, for one connection. A line has one message or a
// batch, whose messages are answered one by one. An invalid line gets an error reply and ends
// nothing; the SDK's transport would end with it.
type stdioTransport struct {
	in   io.ReadCloser
	conn *stdioConn
}

func newStdioTransport(in io.ReadCloser, out io.WriteCloser) *stdioTransport {
	c := &stdioConn{in: in, heard: make(chan readResult), closed: make(chan struct{})}
	c.writer = newStdioWriter(out, c.owed.sends, c.closed)
	return &stdioTransport{in, c}
}

// Connect implements sdk.Transport.
func (l *stdioTransport) Connect(context.Context) (sdk.Connection, error) {
	go l.conn.writer.run() // ends after Close if the client reads, or a close unblocks the writer
	go l.conn.listen()     // ends after Close if that unblocks the stream's readers
	return l.conn, nil
}

// finish waits until the client has read its replies, after the end of the connection.
func (l *stdioTransport) finish() { l.conn.writer.finish() }

// stdioConn is a connection over lines.
type stdioConn struct {
	in     io.ReadCloser
	writer *stdioWriter
	heard  chan readResult
	closed chan struct{}
	close  sync.Once
	owed   pendingRequests
}

// readResult is a message, or why no more follow.
type readResult struct {
	message jsonrpc.Message
	err     error
}

// SessionID implements sdk.Connection.
func (c *stdioConn) SessionID() string { return "" }

// Read implements sdk.Connection.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case it := <-c.heard:
		return it.message, it.err
	case <-c.closed:
		return nil, io.EOF
	case <-c.writer.ended: // no reply would arrive
		return nil, c.writer.failure()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements sdk.Connection.
func (c *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if _, reply := m.(*jsonrpc.Response); reply {
		return c.writer.reply(m, line)
	}
	return c.writer.turn(ctx, line)
}

// Close implements sdk.Connection. The writer closes the output when the replies are written.
func (c *stdioConn) Close() (err error) {
	c.close.Do(func() {
		close(c.closed)
		err = c.in.Close()
	})
	return err
}

// refuse answers an invalid message, which has no id.
func (c *stdioConn) refuse(why *jsonrpc.Error) { c.answer(nil, why) }

func (c *stdioConn) answer(id json.RawMessage, why *jsonrpc.Error) {
	why.Message = core.Preview(why.Message) // it may quote the message
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": why})
	if err == nil {
		_ = c.writer.reply(nil, line) // fails only if the client has left
	}
}

// refuses answers a request that cannot be accepted, under its id. The SDK would ignore one
// whose id is in use, and its sender would wait forever.
func (c *stdioConn) refuses(m jsonrpc.Message, why *jsonrpc.Error) {
	if id, err := json.Marshal(m.(*jsonrpc.Request).ID.Raw()); err == nil {
		c.answer(id, why)
	}
}

// listen reads until the stream ends.
func (c *stdioConn) listen() {
	in := bufio.NewReaderSize(c.in, 64<<10)
	for c.writer.awaitRoom() {
		line, err := c.next(in)
		if errors.Is(err, io.EOF) && len(line) > 0 && !json.Valid(line) {
			line, err = nil, io.ErrUnexpectedEOF
		}
		for _, m := range c.messages(line) {
			if why := c.owed.accept(m); why != nil {
				c.refuses(m, why)
			} else if !c.pass(readResult{message: m}) {
				return
			}
		}
		if err != nil {
			c.pass(readResult{err: err})
			return
		}
	}
}

// pass hands on a message and reports whether the connection is open.
func (c *stdioConn) pass(it readResult) bool {
	select {
	case c.heard <- it:
		return true
	case <-c.closed:
		return false
	}
}

// next returns the next line. It refuses a line above the limit as soon as that is
// known and discards it.
func (c *stdioConn) next(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		switch {
		case long:
		case len(line)+len(part) > maxLine:
			long, line = true, nil
			c.refuse(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the line has more than %d bytes", maxLine)})
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.Trim(bytes.TrimPrefix(line, byteOrderMark), " \t\r\n"), err
		}
	}
}

// messages returns the messages of a line. One invalid message makes it refuse them
// all.
func (c *stdioConn) messages(line []byte) []jsonrpc.Message {
	if len(line) == 0 {
		return nil
	}
	if !json.Valid(line) {
		c.refuse(&jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not JSON"})
		return nil
	}
	all, err := decode(line)
	if id := (*idError)(nil); errors.As(err, &id) {
		c.answer(id.id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()})
		return nil
	}
	if err != nil {
		c.refuse(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()})
		return nil
	}
	return all
}

func decode(line []byte) ([]jsonrpc.Message, error) {
	if line[0] != '[' {
		m, err := decodeOne(line)
		return []jsonrpc.Message{m}, err
	}
	var all []jsonrpc.Message
	parts := json.NewDecoder(bytes.NewReader(line))
	_, _ = parts.Token() // the bracket
	for parts.More() {
		var part json.RawMessage
		if err := parts.Decode(&part); err != nil {
			return nil, err
		}
		m, err := decodeOne(part)
		if err != nil {
			return nil, err
		}
		if all = append(all, m); len(all) > maxBatch {
			return nil, errBatch
		}
	}
	if len(all) == 0 {
		return nil, errBatch
	}
	return all, nil
}

// idError refuses a request whose response could not carry its id.
type idError struct{ id json.RawMessage }

func (e *idError) Error() string { return web.Inexact(e.id) }

// decodeOne decodes a message, unless its id would be changed.
func decodeOne(m []byte) (jsonrpc.Message, error) {
	var head struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(m, &head) == nil && !web.Exact(head.ID) {
		return nil, &idError{id: head.ID}
	}
	return jsonrpc.DecodeMessage(m)
}
