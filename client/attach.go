package client

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coder/websocket"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// AttachOptions configure an attachment.
type AttachOptions struct {
	Stream messages.Stream
	Offset int64
	Lease  string // wire.AttachAsk or wire.AttachTake; "": read only
	// Terminal declares that a terminal shows the output and answers its queries.
	// wire.AttachAnswers says from when on. The client must pass any other output through
	// a view.Mute.
	Terminal bool
}

// Attachment is a connection to a job's terminal or pipes. One goroutine may call Next; the
// other methods are safe for concurrent use.
type Attachment struct {
	conn *websocket.Conn
}

// AttachEvent is bytes of the output, or a message of the daemon (wire.AttachEvent).
type AttachEvent struct {
	Data []byte
	Said wire.AttachEvent // Kind is "" with Data
}

// maxMessage bounds one message of the daemon, in bytes; a record contains its command's text.
const maxMessage = 64 << 20

// Attach connects to a job. The first event is wire.AttachHello.
func (c *Client) Attach(ctx context.Context, id messages.JobID, how AttachOptions) (*Attachment, error) {
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
	conn, reply, err := websocket.Dial(ctx, c.base+of(id, "attach")+"?"+query.Encode(), &websocket.DialOptions{
		HTTPClient: upgraded, HTTPHeader: header, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if reply != nil && reply.StatusCode >= http.StatusBadRequest {
			return nil, refusal(reply)
		}
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	return &Attachment{conn: conn}, nil
}

// Next returns the next event. wire.AttachEnded is the last one.
func (a *Attachment) Next(ctx context.Context) (AttachEvent, error) {
	kind, b, err := a.conn.Read(ctx)
	if err != nil {
		return AttachEvent{}, err
	}
	if kind == websocket.MessageBinary {
		return AttachEvent{Data: b}, nil
	}
	var said wire.AttachEvent
	err = json.Unmarshal(b, &said)
	return AttachEvent{Said: said}, err
}

// Write sends input, in messages of at most wire.MaxAttachInput bytes. It does not wait for
// the job to read it: the event wire.AttachWritten reports that.
func (a *Attachment) Write(ctx context.Context, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), wire.MaxAttachInput)
		if err := a.conn.Write(ctx, websocket.MessageBinary, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// Say sends a request: a kind of package wire, such as wire.AttachAsk.
func (a *Attachment) Say(ctx context.Context, r wire.AttachRequest) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return a.conn.Write(ctx, websocket.MessageText, b)
}

// Close ends the attachment, and the input lease if it has it.
func (a *Attachment) Close() error { return a.conn.CloseNow() }
