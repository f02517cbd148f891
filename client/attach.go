package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"troupe/internal/api"
	"troupe/messages"
)

// AttachOptions configure an attachment.
type AttachOptions struct {
	Stream messages.Stream
	Offset int64
	Lease  string // api.AttachAsk or api.AttachTake; "": read only
	// Terminal declares that a terminal shows the output and answers its queries.
	// api.AttachAnswers says from when on. The client must pass any other output through
	// a view.Mute.
	Terminal bool
}

// Attachment is a connection to a job's terminal or pipes. It comes back to the next daemon, at
// the same byte: api.AttachHello begins each connection, and input that no daemon has
// acknowledged (api.AttachWritten) may be lost then. One goroutine may call Next; the other
// methods are safe for concurrent use.
type Attachment struct {
	client *Client
	job    messages.JobID
	how    AttachOptions // of the next connection; Offset is the next byte
	asks   bool          // the client wants the input lease
	held   bool          // and has it
	away   Absence

	mu       sync.Mutex
	conn     *websocket.Conn
	broken   bool
	sent     int64         // bytes of input, over all connections
	before   int64         // and over those before conn
	replaced chan struct{} // closed when conn is another one
	ended    chan struct{} // closed when there is no other one
}

// AttachEvent is bytes of the output, or a message of the daemon (api.AttachEvent).
type AttachEvent struct {
	Data []byte
	Said api.AttachEvent // Kind is "" with Data
}

// maxMessage bounds one message of the daemon, in bytes; a record contains its command's text.
const maxMessage = 64 << 20

// Attach connects to a job. The first event is api.AttachHello.
func (c *Client) Attach(ctx context.Context, id messages.JobID, how AttachOptions) (*Attachment, error) {
	conn, err := c.attach(ctx, id, how)
	if err != nil {
		return nil, err
	}
	return &Attachment{client: c, job: id, how: how, asks: how.Lease != "", conn: conn, replaced: make(chan struct{}), ended: make(chan struct{})}, nil
}

// attach opens one connection.
func (c *Client) attach(ctx context.Context, id messages.JobID, how AttachOptions) (*websocket.Conn, error) {
	path, err := api.PathOf(id)
	if err != nil {
		return nil, err
	}
	query := url.Values{"stream": {how.Stream.String()}}
	if how.Offset != 0 {
		query.Set("offset", strconv.FormatInt(how.Offset, 10))
	}
	if how.Lease != "" {
		query.Set("lease", how.Lease)
	}
	if how.Terminal {
		query.Set("terminal", "true")
	}
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	upgraded := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.http.dial(ctx) }, DisableKeepAlives: true,
	}}
	conn, reply, err := websocket.Dial(ctx, c.base+path+"/attach?"+query.Encode(), &websocket.DialOptions{
		HTTPClient: upgraded, HTTPHeader: header, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if reply != nil && reply.StatusCode >= http.StatusBadRequest {
			return nil, refusal(reply)
		}
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	return conn, nil
}

// Next returns the next event. api.AttachEnded is the last one.
func (a *Attachment) Next(ctx context.Context) (AttachEvent, error) {
	for {
		conn, _ := a.current()
		kind, b, err := conn.Read(ctx)
		if err != nil {
			if err = a.again(ctx, err); err != nil {
				return AttachEvent{}, err
			}
			continue
		}
		if kind == websocket.MessageBinary {
			a.how.Offset += int64(len(b))
			return AttachEvent{Data: b}, nil
		}
		var said api.AttachEvent
		err = messages.UnmarshalReply(b, &said)
		a.take(said)
		return AttachEvent{Said: said}, err
	}
}

// take takes from an event what the next connection asks for: the byte after a gap, and the
// input lease. After the last event there is none, for which Write and Say would wait.
func (a *Attachment) take(said api.AttachEvent) {
	switch said.Kind {
	case api.AttachGap:
		a.how.Offset = said.To
	case api.AttachLease:
		a.held = said.Held
	case api.AttachEnded:
		a.end()
	}
}

// askLater asks for the input lease when the client that had it has had the time to return.
func (a *Attachment) askLater() {
	_, replaced := a.current()
	go func() {
		late := time.NewTimer(returnTime)
		defer late.Stop()
		select {
		case <-late.C:
			_ = a.Say(context.Background(), api.AttachRequest{Kind: api.AttachAsk})
		case <-replaced:
		case <-a.ended:
		}
	}()
}

// again connects to the next daemon after a broken connection.
func (a *Attachment) again(ctx context.Context, err error) error {
	status := websocket.CloseStatus(err)
	comesBack := !a.client.single && ctx.Err() == nil && !a.closed() && (status == -1 || status == websocket.StatusGoingAway)
	a.breaks()
	if comesBack {
		a.away.begin(err)
		err = a.away.pause(ctx)
	}
	if a.how.Lease = ""; a.held {
		a.how.Lease = api.AttachTake
	}
	for comesBack && err == nil {
		var conn *websocket.Conn
		if conn, err = a.client.attach(ctx, a.job, a.how); err == nil {
			a.away.back = time.Now()
			a.replace(conn)
			if a.asks && !a.held {
				a.askLater()
			}
			return nil
		}
		err = a.away.Next(ctx, err)
	}
	a.end()
	return err
}

// Connected reports whether a daemon is connected; else Next looks for the next one, and Write
// and Say wait for it.
func (a *Attachment) Connected() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.broken
}

// breaks says that the connection has broken.
func (a *Attachment) breaks() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = true
}

// count counts input that a connection has taken.
func (a *Attachment) count(conn *websocket.Conn, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sent += int64(n); a.conn != conn {
		a.before += int64(n)
	}
}

// SentBefore returns how many bytes of input were sent over the connections before this one.
// The job has them if messages.InputWritten.Through, the reply to an empty
// messages.WriteInput, has grown by as much.
func (a *Attachment) SentBefore() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.before
}

// current returns the connection, and a channel that is closed when another one replaces it.
func (a *Attachment) current() (*websocket.Conn, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conn, a.replaced
}

func (a *Attachment) replace(conn *websocket.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.conn.CloseNow()
	close(a.replaced)
	a.conn, a.replaced, a.broken, a.before = conn, make(chan struct{}), false, a.sent
	if a.closed() { // meanwhile
		_ = conn.CloseNow()
	}
}

// end says that no other connection follows.
func (a *Attachment) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed() {
		close(a.ended)
	}
}

// closed reports whether no other connection follows.
func (a *Attachment) closed() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}

// send sends one message. After a broken connection it waits for Next, which replaces it.
func (a *Attachment) send(ctx context.Context, kind websocket.MessageType, b []byte) error {
	for {
		conn, replaced := a.current()
		err := conn.Write(ctx, kind, b)
		if err == nil && kind == websocket.MessageBinary {
			a.count(conn, len(b))
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-replaced:
		case <-a.ended:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// Write sends input, in messages of at most api.MaxAttachInput bytes. It does not wait for
// the job to read it: the event api.AttachWritten reports that.
func (a *Attachment) Write(ctx context.Context, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), api.MaxAttachInput)
		if err := a.send(ctx, websocket.MessageBinary, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// Say sends a request: a kind of package api, such as api.AttachAsk.
func (a *Attachment) Say(ctx context.Context, r api.AttachRequest) error {
	b, err := messages.MarshalRequest(r)
	if err != nil {
		return err
	}
	return a.send(ctx, websocket.MessageText, b)
}

// Close ends the attachment, and the input lease if it has it. It may be called twice.
func (a *Attachment) Close() error {
	a.end()
	conn, _ := a.current()
	if err := conn.CloseNow(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
