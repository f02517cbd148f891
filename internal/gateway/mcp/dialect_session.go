package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect"
	"troupe/messages"
)

// DetailsKey names the details of a result in its _meta: what a program reads, and a model does
// not see.
const DetailsKey = "troupe/details"

// maxTold bounds the notices that wait for the next result of a client. The oldest are
// dropped.
const maxTold = 256

// Dialect replaces the core tools by those that another system's agents know.
type Dialect struct {
	Instructions string
	// Tools are those of every client; their Call is not used.
	Tools []dialect.Tool
	// Artifacts says that its sessions are Artifacts, too.
	Artifacts bool
	// Open opens the session of a client with its first call.
	Open func(Place) (Session, error)
}

// Session is the state of one client in a dialect.
type Session interface {
	Tools() []dialect.Tool
	// Close ends the session. Its files are removed and further notices of its jobs
	// dropped.
	Close(ctx context.Context) error
}

// Place is where the session of a client works.
type Place struct {
	Name   string // of the client, unique
	Scope  messages.ScopePath
	Host   dialect.Host
	Beside dialect.TaskGroup
	// Tell adds a notice to the next result. Before that, dropped reports whether the
	// model knows it already; nil: it does not.
	Tell func(text string, dropped func() bool)
}

// dialectSession is the session of a client in a dialect.
type dialectSession struct {
	Session
	tools map[string]dialect.Tool

	mu      sync.Mutex
	pending []notice // notices for the next result
}

// notice is a text for the model.
type notice struct {
	text    string
	dropped func() bool
}

// addDialect adds the tools of the dialect to the server of a client.
func (c *client) addDialect(d *Dialect) {
	if d.Artifacts {
		c.addArtifacts(d)
	}
	for _, t := range d.Tools {
		tool := &sdk.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema,
			Annotations: &sdk.ToolAnnotations{
				Title: t.Title, ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent, DestructiveHint: &t.Destructive, OpenWorldHint: &t.OpenWorld,
			},
		}
		c.sdk.AddTool(tool, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			select {
			case c.calls <- struct{}{}:
				defer func() { <-c.calls }()
			default:
				return c.refuse(ctx, errMany), nil
			}
			s, err := c.speaks(ctx, d, req.ClientInfo)
			if err != nil {
				return c.failed(ctx, err)
			}
			return s.call(ctx, &call{client: c, req: req})
		})
	}
}

// speaks returns the session of the client and opens it with the first call.
func (c *client) speaks(ctx context.Context, d *Dialect, who func() *sdk.Implementation) (*dialectSession, error) {
	if err := c.enter(ctx, who); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil: // the client has left meanwhile and would not close the session
		return nil, errLeft
	case c.dialect != nil:
		return c.dialect, nil
	}
	s := &dialectSession{tools: map[string]dialect.Tool{}}
	session, err := d.Open(Place{Name: c.name, Scope: c.scope, Host: &closingHost{c.options.Host, c.ctx}, Beside: &c.work, Tell: s.tell})
	if err != nil {
		return nil, err
	}
	s.Session = session
	for _, t := range session.Tools() {
		s.tools[t.Name] = t
	}
	c.dialect = s
	return s, nil
}

// closes ends the session of a client that has left.
func (c *client) closes(s *dialectSession) {
	ctx, cancel := context.WithTimeout(context.Background(), dialect.LeavePatience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		c.log.Warn("cannot end the session of a client", "scope", c.scope, "error", err)
	}
}

// tell keeps a notice for the next result.
func (s *dialectSession) tell(text string, dropped func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, notice{text, dropped})
	s.pending = s.pending[max(0, len(s.pending)-maxTold):]
}

// take returns the notices and forgets them.
func (s *dialectSession) take() (texts []string) {
	s.mu.Lock()
	pending := s.pending
	s.pending = nil
	s.mu.Unlock()
	for _, n := range pending {
		if n.dropped == nil || !n.dropped() {
			texts = append(texts, n.text)
		}
	}
	return texts
}

// call serves one call. Its result is the text of the dialect, then each notice as a
// text of its own.
func (s *dialectSession) call(ctx context.Context, c *call) (*sdk.CallToolResult, error) {
	tool, ok := s.tools[c.req.Params.Name]
	if !ok {
		return c.refuse(ctx, &messages.Error{Code: messages.Unsupported, Reason: "tool", Message: "unknown tool " + c.req.Params.Name}), nil
	}
	in := dialect.Call{Arguments: c.req.Params.Arguments}
	if c.req.Params.GetProgressToken() != nil {
		beat := c.beats(ctx)
		defer beat.stop()
		in.Update = beat.update
	}
	r, err := tool.Call(ctx, in)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // the host's error is a result, so that a model can react to it
		return c.failed(ctx, err)
	}
	result := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Text}}, IsError: r.IsError}
	if r.Details != nil {
		details, err := json.Marshal(r.Details)
		if err != nil {
			return nil, err
		}
		result.SetMeta(map[string]any{DetailsKey: json.RawMessage(details)})
	}
	for _, text := range s.take() {
		result.Content = append(result.Content, &sdk.TextContent{Text: text})
	}
	return result, nil
}

// updateEvery is the shortest interval between two updates of a call.
const updateEvery = time.Second

// progressTicker reports the progress of a call: new output every second, otherwise a
// sign of life every ten seconds.
type progressTicker struct {
	done chan struct{}
	over chan struct{}

	mu   sync.Mutex
	line string
	news bool
}

func (c *call) beats(ctx context.Context) *progressTicker {
	b := &progressTicker{done: make(chan struct{}), over: make(chan struct{}), line: "running"}
	began := time.Now()
	c.work.Go(func() {
		defer close(b.over)
		tick := time.NewTicker(updateEvery)
		defer tick.Stop()
		for last := began; ; {
			select {
			case <-tick.C:
			case <-b.done:
				return
			case <-ctx.Done():
				return
			}
			b.mu.Lock()
			line, news := b.line, b.news
			b.news = false
			b.mu.Unlock()
			if news || time.Since(last) >= progressEvery {
				last = time.Now()
				c.say(ctx, began, line)
			}
		}
	})
	return b
}

// update implements Update of a dialect.Call.
func (b *progressTicker) update(r dialect.Result) {
	line := lastOf(r.Text)
	if line == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news = b.news || line != b.line
	b.line = line
}

func (b *progressTicker) stop() {
	close(b.done)
	<-b.over
}
