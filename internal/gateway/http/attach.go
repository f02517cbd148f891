package http

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"troupe/internal/api"
	"troupe/messages"
)

// Bounds of an attachment. Output that its client does not read stays in the log.
const (
	maxNotices = 16 // notices to send; a client that reads none is disconnected
	maxAnswers = 8  // of these, replies to the client; at the limit its messages wait
	maxInputs  = 16 // messages that wait for the job to read
)

// attachment connects one client to a job's terminal or pipes. Its goroutines:
//
//	handler    reads the client's messages
//	output     sends the log from an offset as it grows
//	tell       sends notices of the lease and of input
//	input      writes to the job, in order
//	size       changes the size of the terminal
type attachment struct {
	*request
	conn    *websocket.Conn
	uid     messages.UID
	from    Output
	least   int64 // minimal end of the output, in bytes
	notices chan api.AttachEvent
	answers chan struct{} // one entry for each reply among the notices
	inputs  chan inputRequest
	sizes   chan resizeRequest // the size that waits, independent of the inputs; capacity 1
	sized   chan struct{}      // closed when the newest size is set; only listen uses it
	cancel  context.CancelFunc
	shown   terminalView
}

// inputRequest is an input for the job.
type inputRequest struct {
	request messages.Refusable
	after   chan struct{} // closed when the size requested before this input is set; nil: no wait
}

// attach answers with a WebSocket.
func (c *request) attach() error {
	offset, err := c.query.Number("offset", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	want := c.query.Text("lease")
	if want != "" && want != api.AttachAsk && want != api.AttachTake {
		return messages.Invalid("lease", "lease must be ask or take; leave it out to watch")
	}
	terminal, err := c.query.Flag("terminal")
	if err != nil {
		return err
	}
	job, out, err := c.outputTarget()
	if err != nil {
		return err
	}
	if err := c.upgrades(); err != nil {
		c.w.Header().Set("Upgrade", "websocket")
		c.w.Header().Set("Sec-WebSocket-Version", "13")
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	from, err := c.node.Output(ctx, messages.JobID(job.UID), out.Stream, offset)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	c.attached.Add(1) // before the HTTP server forgets the connection
	defer c.attached.Done()
	conn, err := websocket.Accept(c.w, c.r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return errAnswered // the library has sent the error
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(api.MaxAttachInput)
	a := &attachment{
		request: c, conn: conn, uid: job.UID, from: from, least: out.Bytes, cancel: cancel,
		notices: make(chan api.AttachEvent, maxNotices), answers: make(chan struct{}, maxAnswers), inputs: make(chan inputRequest, maxInputs),
		sizes: make(chan resizeRequest, 1), shown: newShown(terminal),
	}
	defer a.untilClosing()()
	a.join(a)
	defer a.leave(a)
	defer a.givesBack()
	if err := a.say(ctx, api.AttachEvent{Kind: api.AttachHello, Job: &job, Stream: out.Stream.String(), Offset: offset}); err != nil {
		return errAnswered
	}
	if want != "" {
		a.change(a, want)
	}
	a.serve(ctx)
	return errAnswered
}

// upgrades returns why a request cannot become a WebSocket. The library would report it
// as plain text.
func (c *request) upgrades() error {
	h := c.r.Header
	key, err := base64.StdEncoding.DecodeString(h.Get("Sec-WebSocket-Key"))
	switch {
	case !c.r.ProtoAtLeast(1, 1), !lists(h.Values("Connection"), "Upgrade"), !lists(h.Values("Upgrade"), "websocket"):
		return messages.Invalid("upgrade", "this path is a WebSocket; send an upgrade request")
	case h.Get("Sec-WebSocket-Version") != "13":
		return messages.Invalid("upgrade", "unsupported WebSocket version; send Sec-WebSocket-Version: 13")
	case err != nil, len(key) != 16, len(h.Values("Sec-WebSocket-Key")) != 1:
		return messages.Invalid("upgrade", "the Sec-WebSocket-Key must be the base64 of 16 bytes")
	}
	return nil
}

// serve returns when the client, the output or the server ends.
func (a *attachment) serve(ctx context.Context) {
	done := make(chan struct{}, 4)
	for _, part := range []func(context.Context){a.output, a.tell, a.input, a.size} {
		go func() {
			defer func() { done <- struct{}{} }()
			part(ctx)
		}()
	}
	a.listen(ctx)
	a.cancel()
	_ = a.conn.CloseNow() // unblocks pending writes
	for range cap(done) {
		<-done
	}
}

// listen reads the client's messages.
func (a *attachment) listen(ctx context.Context) {
	for {
		kind, b, err := a.conn.Read(ctx)
		if err != nil {
			return
		}
		if refused := a.heard(kind, b); refused != nil {
			a.answer(ctx, api.AttachEvent{Kind: api.AttachFailed, Error: refused})
		}
	}
}

// heard handles one message of the client.
func (a *attachment) heard(kind websocket.MessageType, b []byte) *messages.Error {
	job := messages.JobID(a.uid)
	if kind == websocket.MessageBinary {
		return a.enqueue(inputRequest{request: messages.WriteInput{Job: job, Data: b}, after: a.sized})
	}
	var r api.AttachRequest
	if err := api.Decode(b, &r); err != nil {
		return err
	}
	switch r.Kind {
	case api.AttachYield:
		a.givesBack()
		a.change(a, r.Kind)
		return nil
	case api.AttachAsk, api.AttachTake, api.AttachRefuse:
		a.change(a, r.Kind)
		return nil
	case api.AttachCloseInput:
		return a.enqueue(inputRequest{request: messages.CloseInput{Job: job}, after: a.sized})
	case api.AttachResize:
		size := messages.Terminal{Rows: r.Rows, Cols: r.Cols}
		if err := size.Check(); err != nil {
			return err
		}
		return a.wantsSize(size)
	case api.AttachRepaint:
		return a.wantsSize(messages.Terminal{})
	}
	return messages.Invalid("type", fmt.Sprintf("invalid type %.64q: use close_input, resize, repaint, ask, take, yield or refuse", r.Kind))
}

// enqueue queues an input for the job.
func (a *attachment) enqueue(r inputRequest) *messages.Error {
	if !a.holds(a) {
		return a.noLease(a)
	}
	select {
	case a.inputs <- r:
		return nil
	default:
		return &messages.Error{Code: messages.ResourceExhausted, Reason: "input", Message: "the job does not read its input, and the queue for it is full", Hint: "wait for written, then send it again"}
	}
}

// input writes to the job in order, each input after the sizes requested before it.
func (a *attachment) input(ctx context.Context) {
	for {
		select {
		case r := <-a.inputs:
			if r.after != nil {
				select {
				case <-r.after:
				case <-ctx.Done():
					return
				}
			}
			a.perform(ctx, r.request)
		case <-ctx.Done():
			return
		}
	}
}

func (a *attachment) perform(ctx context.Context, r messages.Refusable) {
	reply, err := a.node.Ask(ctx, r)
	if err == nil {
		err = messages.Refusal(reply)
	}
	written, ok := reply.(messages.InputWritten)
	switch {
	case ctx.Err() != nil:
	case err != nil && a.coded(err).Code == messages.ShuttingDown: // the input of a run or of a lost connection is not acknowledged either
	case err != nil:
		a.answer(ctx, api.AttachEvent{Kind: api.AttachFailed, Error: a.coded(err)})
	case ok:
		a.answer(ctx, api.AttachEvent{Kind: api.AttachWritten, Through: written.Through})
	}
}

// answer queues a reply to the client. It waits for room, so that a client that sends
// much gets every reply; its next messages wait meanwhile.
func (a *attachment) answer(ctx context.Context, said api.AttachEvent) {
	select {
	case a.answers <- struct{}{}:
		a.notice(said)
	case <-ctx.Done():
	}
}

// notice queues a notice without waiting for the client. A client whose queue is full
// is disconnected.
func (a *attachment) notice(said api.AttachEvent) {
	select {
	case a.notices <- said:
	default:
		a.cancel()
	}
}

func (a *attachment) tell(ctx context.Context) {
	for {
		select {
		case said := <-a.notices:
			if a.say(ctx, said) != nil {
				a.cancel()
				return
			}
			if said.Kind == api.AttachFailed || said.Kind == api.AttachWritten {
				<-a.answers
			}
		case <-ctx.Done():
			return
		}
	}
}

func (a *attachment) say(ctx context.Context, said api.AttachEvent) error {
	b, err := compact(said)
	if err != nil {
		return err
	}
	return a.conn.Write(ctx, websocket.MessageText, b)
}

// output sends the log. A slow client delays only this goroutine, not the job.
func (a *attachment) output(ctx context.Context) {
	defer a.cancel()
	defer a.leaveTerminal(ctx)
	buf := make([]byte, copyBuffer)
	reported := 0
	for {
		n, err := a.from.Read(buf)
		for gaps := a.from.Gaps(); reported < len(gaps) && !a.from.Removed(); reported++ {
			if a.say(ctx, api.AttachEvent{Kind: api.AttachGap, From: gaps[reported].From, To: gaps[reported].To}) != nil {
				return
			}
		}
		if at := a.from.Offset(); n > 0 && a.mayAnswer(ctx, at-int64(n), at) != nil {
			return
		}
		if n > 0 && a.conn.Write(ctx, websocket.MessageBinary, buf[:n]) != nil {
			return
		}
		if errors.Is(err, io.EOF) {
			if a.from.Offset() < a.least || a.from.Removed() && a.least > 0 {
				_ = a.say(ctx, api.AttachEvent{Kind: api.AttachFailed, Error: a.coded(messages.OutputForgotten())})
			}
			a.end(ctx)
			return
		}
		if err != nil {
			if ctx.Err() == nil { // the node has shut down
				a.goAway()
			}
			return
		}
	}
}

// untilClosing ends the attachment when the server closes. The client receives a close
// frame before the connection is cut.
func (a *attachment) untilClosing() (stop func() bool) {
	line := http.NewResponseController(a.w)
	_ = line.SetWriteDeadline(time.Time{})
	return context.AfterFunc(a.closing, func() {
		defer a.cancel()
		over := time.NewTimer(lastWords)
		defer over.Stop()
		_ = line.SetWriteDeadline(time.Now().Add(lastWords))
		closed := make(chan struct{})
		go func() {
			a.goAway()
			close(closed)
		}()
		select {
		case <-closed:
		case <-over.C: // the client does not reply
		}
	})
}

// goAway closes an attachment whose job may still run, so that it does not look like a
// broken connection. Its client has the input lease again at the next daemon.
func (a *attachment) goAway() {
	a.keepLease(a)
	_ = a.conn.Close(websocket.StatusGoingAway, "the server stops following the output; attach again")
}

// end reports the end of the output and the job's record.
func (a *attachment) end(ctx context.Context) {
	said := api.AttachEvent{Kind: api.AttachEnded, Offset: a.from.Offset()}
	if job, err := a.node.Job(ctx, messages.JobID(a.uid)); err == nil {
		said.Job = &job
	}
	if a.say(ctx, said) == nil {
		_ = a.conn.Close(websocket.StatusNormalClosure, "the output has ended")
	}
}
