package mcpserve

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/oklog/ulid/v2"

	"troupe/client"
	"troupe/internal/cli/connect"
	"troupe/internal/gateway/mcp"
	"troupe/messages"
)

// Host is the node of the MCP gateway: the daemon, which is started when there is
// none, also again; or a node of this process behind a socket of its own. A request
// that broke is asked again where that does nothing twice.
type Host struct {
	Find func() (*client.Client, error)
	Kept func() bool // whether jobs may live although there is no daemon

	mu     sync.Mutex
	client *client.Client
}

// maxTries bounds how often one request is asked: a daemon that dies more often over it
// dies of it.
const maxTries = 5

// dial is the client of the daemon. If the last request broke, it is looked for anew.
func (h *Host) dial(anew bool) (*client.Client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil && !anew {
		return h.client, nil
	}
	c, err := h.Find()
	if err != nil {
		return nil, err
	}
	h.client = c
	return c, nil
}

// askDaemon asks the daemon. again says of an error that came of the connection whether
// the request may be asked again.
func askDaemon[T any](ctx context.Context, h *Host, again func(error) bool, ask func(*client.Client) (T, error)) (T, error) {
	for try := 1; ; try++ {
		c, err := h.dial(try > 1)
		var v T
		if err == nil {
			v, err = connect.RetryBusy(ctx, connect.WasRejected, func() (T, error) { return ask(c) })
		}
		switch {
		case err == nil, ctx.Err() != nil, !broke(err):
			return v, err
		case try == maxTries || !again(err):
			return v, connect.BrokenOff(err)
		}
	}
}

// broke reports whether an error is of the connection, or of a daemon that ends.
func broke(err error) bool {
	var coded *messages.Error
	return !errors.As(err, &coded) || coded.Code == messages.ShuttingDown
}

// retrySafe is for requests that do the same twice as once; unsent for the others, of
// which it must be known that nobody has taken them.
func retrySafe(error) bool  { return true }
func unsent(err error) bool { return errors.Is(err, client.ErrNoDaemon) }

// noReply is the reply of requests that have none.
type noReply struct{}

func nothing(err error) (noReply, error) { return noReply{}, err }

// For implements mcp.Host.
func (h *Host) For(ctx context.Context, whom string) context.Context {
	return client.WithCaller(ctx, whom)
}

// Run implements mcp.Host. The run has a key, so that it is joined when it is asked for
// again: a job does not end because the daemon did.
func (h *Host) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Job, mcp.Text, error) {
	if r.Key == "" {
		r.Key = ulid.Make().String()
	}
	with := []client.Option{client.WithText(most)}
	if known != nil {
		var once sync.Once
		with = append(with, client.WithID(func(id messages.JobID) { once.Do(func() { known(id) }) }))
	}
	var text mcp.Text
	job, err := askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.Job, error) {
		result, err := c.Run(ctx, r, with...)
		if result.Text != nil {
			text = mcp.Text{Text: result.Text.Text, Truncated: result.Text.Truncated}
		}
		return result.Job, err
	})
	return job, text, err
}

// Job implements mcp.Host.
func (h *Host) Job(ctx context.Context, id messages.JobID) (messages.Job, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.Job, error) { return c.Job(ctx, id) })
}

// Jobs implements mcp.Host.
func (h *Host) Jobs(ctx context.Context, r messages.ListJobs) ([]messages.Job, error) {
	list, err := askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.JobList, error) { return c.Jobs(ctx, r) })
	return list.Jobs, err
}

// Sessions implements mcp.Host.
func (h *Host) Sessions(ctx context.Context, scope messages.ScopePath) ([]messages.SessionInfo, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) ([]messages.SessionInfo, error) { return c.Sessions(ctx, scope) })
}

// Await implements mcp.Host.
func (h *Host) Await(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.WaitEnded, error) { return c.Await(ctx, r) })
}

// Stop implements mcp.Host.
func (h *Host) Stop(ctx context.Context, r messages.StopCommand) (messages.CommandStopped, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.CommandStopped, error) { return c.Stop(ctx, r) })
}

// CloseSession implements mcp.Host.
func (h *Host) CloseSession(ctx context.Context, r messages.CloseSession) (messages.SessionClosed, error) {
	return askDaemon(ctx, h, unsent, func(c *client.Client) (messages.SessionClosed, error) { return c.CloseSession(ctx, r) })
}

// Signal implements mcp.Host.
func (h *Host) Signal(ctx context.Context, r messages.SignalCommand) error {
	_, err := askDaemon(ctx, h, unsent, func(c *client.Client) (noReply, error) { return nothing(c.Signal(ctx, r)) })
	return err
}

// Promote implements mcp.Host.
func (h *Host) Promote(ctx context.Context, id messages.JobID) (messages.Job, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.Job, error) { return c.Promote(ctx, messages.PromoteCommand{Job: id}) })
}

// Input implements mcp.Host.
func (h *Host) Input(ctx context.Context, r messages.WriteInput) error {
	_, err := askDaemon(ctx, h, unsent, func(c *client.Client) (int64, error) { return c.Input(ctx, r) })
	return err
}

// Type implements mcp.Host.
func (h *Host) Type(ctx context.Context, id messages.JobID, keys string) error {
	_, err := askDaemon(ctx, h, unsent, func(c *client.Client) (int64, error) { return c.Type(ctx, id, keys) })
	return err
}

// Paste implements mcp.Host.
func (h *Host) Paste(ctx context.Context, id messages.JobID, text string) error {
	_, err := askDaemon(ctx, h, unsent, func(c *client.Client) (int64, error) { return c.Paste(ctx, id, text) })
	return err
}

// CloseInput implements mcp.Host.
func (h *Host) CloseInput(ctx context.Context, id messages.JobID) error {
	_, err := askDaemon(ctx, h, retrySafe, func(c *client.Client) (noReply, error) { return nothing(c.CloseInput(ctx, id)) })
	return err
}

// Screen implements mcp.Host.
func (h *Host) Screen(ctx context.Context, id messages.JobID) (messages.ScreenText, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.ScreenText, error) {
		s, err := c.Screen(ctx, id)
		return messages.ScreenText{
			Job: s.Job, Lines: s.Lines, Row: s.Cursor.Row, Col: s.Cursor.Col, Visible: s.Cursor.Visible, Size: messages.Terminal{Rows: s.Rows, Cols: s.Cols},
			Alternate: s.Alternate, Title: s.Title, Keys: messages.KeyModes(s.Keys), Modes: s.Modes, At: s.At, Bytes: s.Bytes,
		}, err
	})
}

// Resize implements dialects.Host.
func (h *Host) Resize(ctx context.Context, r messages.ResizeTerminal) error {
	_, err := askDaemon(ctx, h, retrySafe, func(c *client.Client) (noReply, error) { return nothing(c.Resize(ctx, r)) })
	return err
}

// View implements mcp.Host.
func (h *Host) View(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.OutputPage, error) {
		look := client.TextView{Stream: r.Stream, Bytes: int64(r.View.Bytes), Raw: !r.Plain}
		switch r.View.Kind {
		case messages.ViewPage:
			look.Line, look.Limit = r.View.Offset, int64(r.View.Lines)
		case messages.ViewTailLine:
			look.Tail = int64(r.View.Lines)
		case messages.ViewHeadTail:
			look.Head, look.Tail = int64(r.View.Lines), int64(r.View.Lines)
		}
		p, err := c.Text(ctx, r.Job, look)
		return messages.OutputPage{
			Job: p.Job, Stream: r.Stream, Text: p.Text, From: p.From, To: p.To, Line: p.Line, Bytes: p.Bytes, Lines: p.Counted(), LinesExact: p.LinesExact,
			Truncated: p.Truncated, Gaps: p.Gaps, Closed: p.Closed,
		}, err
	})
}

// Both implements mcp.Host. A daemon that does not know what it is asked is an older one,
// which goes on when another troupe was installed.
func (h *Host) Both(ctx context.Context, id messages.JobID, behind [2]int64, most int) (messages.OutputPage, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.OutputPage, error) {
		p, err := c.Text(ctx, id, client.TextView{Both: true, Behind: behind, Bytes: int64(most)})
		if errors.Is(err, &messages.Error{Code: messages.InvalidParams}) {
			err = &messages.Error{
				Code: messages.Unsupported, Reason: "daemon", Message: "the daemon is older than this troupe, and does not show two streams together",
				Hint: "read shows each of them; behind troupe shutdown, which the jobs outlive, the next daemon can",
			}
		}
		return messages.OutputPage{Job: p.Job, Text: p.Text, To: p.To, Bytes: p.Bytes, Truncated: p.Truncated, Closed: p.Closed}, err
	})
}

// Bytes implements mcp.Host.
func (h *Host) Bytes(ctx context.Context, id messages.JobID, stream messages.Stream, from int64, most int, wait bool) (mcp.Bytes, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (mcp.Bytes, error) {
		out, err := c.Output(ctx, id, client.Range{Stream: stream, Offset: from, Limit: int64(most), Follow: wait})
		if err != nil {
			return mcp.Bytes{}, err
		}
		defer out.Close()
		b := mcp.Bytes{Size: out.Size}
		if b.Data, err = io.ReadAll(out); err != nil {
			return b, err
		}
		if b.Next, err = out.Next(); err != nil {
			return b, err
		}
		b.Gaps, err = out.Gaps()
		return b, err
	})
}

// Events implements mcp.Host.
func (h *Host) Events(ctx context.Context, filter messages.Filter, begun func()) iter.Seq2[messages.Fact, error] {
	return func(yield func(messages.Fact, error) bool) {
		c, err := h.dial(false)
		if err != nil {
			yield(nil, err)
			return
		}
		for e, err := range c.NewEvents(ctx, filter, begun) {
			if err != nil {
				yield(nil, err)
				return
			}
			if fact := e.Fact(); fact != nil && !yield(fact, nil) {
				return
			}
		}
	}
}

// OpenScope implements mcp.Host.
func (h *Host) OpenScope(ctx context.Context, path messages.ScopePath, quota messages.ScopeQuota) error {
	_, err := askDaemon(ctx, h, retrySafe, func(c *client.Client) (noReply, error) {
		return nothing(c.OpenScope(ctx, messages.OpenScope{Path: path, Quota: quota}))
	})
	return err
}

// Leave implements mcp.Host.
func (h *Host) Leave(ctx context.Context, path messages.ScopePath) error {
	_, err := askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.ScopeReleased, error) { return c.ReleaseScope(ctx, clientLeft(path)) })
	return err
}

func clientLeft(path messages.ScopePath) messages.CloseScope {
	return messages.CloseScope{Path: path, Reason: "its client has left"}
}
