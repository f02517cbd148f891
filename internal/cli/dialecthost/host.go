package dialecthost

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/oklog/ulid/v2"

	"troupe/client"
	"troupe/internal/cli/connect"
	"troupe/internal/dialect"
	"troupe/messages"
)

// Host implements dialect.Host and mcp.Host with the daemon, or with a node of this process on a private
// socket. It starts a missing daemon, also again. It repeats a broken request if a repeat
// has no second effect.
type Host struct {
	Find func() (*client.Client, error)
	Kept func() bool // reports whether jobs can live without the daemon

	mu     sync.Mutex
	client *client.Client
}

// maxTries bounds the daemons that may die of one request.
const maxTries = 5

// dial returns the client of the daemon. With anew it finds the daemon again, after a broken
// request.
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
	c.EndWithDaemon()
	h.client = c
	return c, nil
}

// askDaemon sends a request to the daemon. After an error of the connection, again reports
// whether the request may be repeated. A daemon that shuts down does not count as one that died.
func askDaemon[T any](ctx context.Context, h *Host, again func(error) bool, ask func(*client.Client) (T, error)) (T, error) {
	var away client.Absence
	for try, anew := 1, false; ; anew = true {
		c, err := h.dial(anew)
		var v T
		if err == nil {
			v, err = connect.RetryBusy(ctx, connect.WasRejected, func() (T, error) { return ask(c) })
		}
		switch {
		case err == nil, ctx.Err() != nil, !broke(err):
			return v, err
		case try == maxTries || !again(err):
			return v, connect.BrokenOff(err)
		case !leaves(err):
			try++
		}
		if over := away.Next(ctx, err); over != nil {
			return v, connect.BrokenOff(over)
		}
	}
}

// broke reports whether an error is of the connection, or of a daemon that shuts down.
func broke(err error) bool {
	var coded *messages.Error
	return !errors.As(err, &coded) || coded.Code == messages.ShuttingDown
}

// leaves reports whether a daemon has refused a request because it shuts down.
func leaves(err error) bool { return errors.Is(err, &messages.Error{Code: messages.ShuttingDown}) }

// retrySafe allows a repeat of idempotent requests. unsent allows one of other requests only
// if no daemon has taken them.
func retrySafe(error) bool  { return true }
func unsent(err error) bool { return errors.Is(err, client.ErrNoDaemon) || leaves(err) }

// Run implements dialect.Host. It gives the request an idempotency key: the job can outlive the
// daemon, and a repeat then joins it.
func (h *Host) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	if r.Key == "" {
		r.Key = ulid.Make().String()
	}
	with := []client.Option{client.WithText(most)}
	if known != nil {
		var once sync.Once
		with = append(with, client.WithID(func(id messages.JobID) { once.Do(func() { known(id) }) }))
	}
	var text dialect.Text
	job, err := askDaemon(ctx, h, retrySafe, func(c *client.Client) (messages.Record, error) {
		result, err := c.Run(ctx, r, with...)
		if result.Text != nil {
			text = dialect.Text{Text: result.Text.Text, Truncated: result.Text.Truncated, Redrawn: result.Text.Redrawn}
		}
		return result.Job, err
	})
	return job, text, err
}

// Do implements dialect.Host.
func (h *Host) Do(ctx context.Context, r messages.Refusable) (any, error) {
	again := retrySafe
	switch r.(type) {
	case messages.RunCommand, messages.CloseSession, messages.SignalCommand, messages.WriteInput:
		again = unsent
	}
	return askDaemon(ctx, h, again, func(c *client.Client) (any, error) {
		reply, err := c.Host().Do(ctx, r)
		return reply, explained(r, err)
	})
}

// explained returns the error of a request. A daemon that rejects a view of both streams is older
// than this troupe: it keeps running after an upgrade.
func explained(r messages.Refusable, err error) error {
	read, is := r.(messages.ReadOutput)
	if !is || read.Stream != messages.Both || !errors.Is(err, &messages.Error{Code: messages.InvalidParams}) {
		return err
	}
	return &messages.Error{
		Code: messages.Unsupported, Reason: "daemon", Message: "the daemon is older than this troupe and cannot show two streams together",
		Hint: "use read for each stream, or restart the daemon with troupe shutdown: its jobs keep running",
	}
}

// Bytes implements dialect.Host.
func (h *Host) Bytes(ctx context.Context, id messages.JobID, stream messages.Stream, from int64, most int, wait bool) (dialect.Bytes, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (dialect.Bytes, error) {
		out, err := c.Output(ctx, id, client.Range{Stream: stream, Offset: from, Limit: int64(most), Follow: wait})
		if err != nil {
			return dialect.Bytes{}, err
		}
		defer out.Close()
		b := dialect.Bytes{Size: out.Size}
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

// Events implements dialect.Host.
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

// Facts implements dialect.Host.
func (h *Host) Facts(ctx context.Context, r messages.Subscribe, most int) (dialect.FactPage, error) {
	return askDaemon(ctx, h, retrySafe, func(c *client.Client) (dialect.FactPage, error) {
		p, err := c.EventPage(ctx, r, most)
		page := dialect.FactPage{Next: p.Next, More: p.More, Origin: p.Origin}
		for _, e := range p.Events {
			if fact := e.Fact(); fact != nil {
				page.Facts = append(page.Facts, messages.Notification{Seq: e.Seq, Fact: fact})
			}
		}
		return page, err
	})
}

func clientLeft(path messages.ScopePath) messages.CloseScope {
	return messages.CloseScope{Path: path, Reason: "its client has left"}
}
