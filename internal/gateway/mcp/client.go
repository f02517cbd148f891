package mcp

import (
	"context"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/events"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/internal/gateway/mcp/web"
	"troupe/messages"
)

// client is one client with a scope of its own. It has an MCP server of its own,
// because that server lists the client's resources.
type client struct {
	*Server
	sdk   *sdk.Server
	calls chan struct{}   // one entry for each running tool
	reads chan struct{}   // one for each request that reads events or resources
	ctx   context.Context //nolint:containedctx // of all its calls
	end   context.CancelFunc
	tasks *tasks.Store

	mu               sync.Mutex
	name             string // last name of its scope; "": the client has made no call yet
	scope            messages.ScopePath
	watched          bool                         // its end is watched through its session
	backgroundJobs   map[messages.UID]*trackedJob // jobs whose end was not reported
	newSubscriptions []string                     // URIs of the request at hand
	pending          []core.Notice                // ends to report with the next result
	flights          map[messages.UID]*activeRun  // runs whose call has asked for input
	listed           map[messages.JobID][]string  // resources by job
	order            []messages.JobID             // of the jobs in listed, oldest first
	watchers         map[chan struct{}]bool       // of open streams of events
	dialect          *dialectSession              // nil: not opened yet, or the core tools
	left             sync.Once
}

func (s *Server) newClient() *client {
	c := &client{
		Server: s, calls: make(chan struct{}, maxCalls), reads: make(chan struct{}, maxReads), backgroundJobs: map[messages.UID]*trackedJob{},
		flights: map[messages.UID]*activeRun{}, listed: map[messages.JobID][]string{},
		watchers: map[chan struct{}]bool{},
	}
	c.ctx, c.end = context.WithCancel(context.Background()) // not the server's, which would keep abandoned clients in memory
	c.sdk = sdk.NewServer(s.describe(), &sdk.ServerOptions{
		Instructions: s.instructions(), Capabilities: &sdk.ServerCapabilities{},
		SetCacheable:       func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }, // each client sees its own
		SubscribeHandler:   c.subscribed,
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		CompletionHandler:  c.complete,
	})
	c.tasks = tasks.New(tasks.Options{Max: maxTasks, PerClient: maxTasks, Live: maxLive, Log: s.log})
	if err := c.tasks.Serve(c.sdk); err != nil {
		panic("cannot serve the extension of tasks: " + err.Error()) // only if a method is registered twice
	}
	if err := events.Serve(c.sdk, events.Options{Source: eventSource{c}, Relay: s.relay}); err != nil {
		panic("cannot serve the extension of events: " + err.Error()) // only if a method is standard
	}
	c.sdk.AddSendingMiddleware(c.afterAck)
	c.sdk.AddReceivingMiddleware(c.afterReply, c.watch, web.EndCalls, c.bounded)
	if s.options.Dialect != nil {
		c.addDialect(s.options.Dialect)
	} else {
		c.addTools()
	}
	c.addResources()
	return c
}

// watch ends the client with its session, and the client's calls with it. A revision
// without sessions has one for each request, which says nothing about the client.
func (c *client) watch(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		if session, ok := req.GetSession().(*sdk.ServerSession); ok && session.ID() != "" {
			c.mu.Lock()
			first := !c.watched
			c.watched = true
			c.mu.Unlock()
			if first {
				c.work.Go(func() {
					_ = session.Wait()
					c.leave()
				})
			}
		}
		return next(ctx, method, req)
	}
}

// bounded bounds the requests for events and resources, each of which asks the host. They have a
// bound of their own, since a client whose calls all wait can still poll. They are short: one above
// the bound waits.
func (c *client) bounded(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch method {
		case "events/list", "events/poll", "resources/list", "resources/read", subscribeMethod, "completion/complete":
			select {
			case c.reads <- struct{}{}:
				defer func() { <-c.reads }()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return next(ctx, method, req)
	}
}

// errLeft refuses a call after the end of its client: no client would stop what it
// starts.
var errLeft = &messages.Error{Code: messages.ShuttingDown, Reason: "client", Message: "the session of the client has ended"}

// enter opens the client's scope with the first request that needs it. It calls who,
// which names the client, only then.
func (c *client) enter(ctx context.Context, who func() *sdk.Implementation) error {
	c.Server.mu.Lock()
	closed := c.closed
	c.Server.mu.Unlock()
	if closed {
		return &messages.Error{Code: messages.ShuttingDown, Message: "the server is ending"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return errLeft
	}
	if c.name != "" {
		return nil
	}
	name := "client"
	if who := who(); who != nil {
		name = plain(who.Name)
	}
	name += "-" + chance()
	scope := messages.ScopePath(string(c.base) + "/" + name)
	if err := c.begin(ctx, scope); err != nil {
		return err
	}
	c.name, c.scope = name, scope
	c.Server.mu.Lock()
	c.clients[name] = c
	c.Server.mu.Unlock()
	return nil
}

// plain turns a name into one that a scope may have.
func plain(name string) string {
	const most = 40
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	clean = strings.Trim(clean[:min(len(clean), most)], "-.")
	if clean == "" {
		return "client"
	}
	return clean
}

// own finds a job of the client. Jobs of other clients are not found.
func (c *client) own(ctx context.Context, id string) (messages.Record, error) {
	none := &messages.Error{
		Code: messages.NotFound, Reason: "job", Message: "there is no job " + core.Preview(id) + " of yours",
		Hint: "list with all names your jobs; a person can hand over another with troupe handover JOB " + string(c.scope),
	}
	switch {
	case id == "":
		return messages.Record{}, messages.Invalid("job_id", "job_id is empty; list names your jobs")
	case len(id) > messages.MaxNameLength:
		return messages.Record{}, none
	}
	job, err := dialect.Job(ctx, c.options.Host, messages.JobID(id))
	if isCode(err, messages.Conflict) || err == nil && !c.scope.Contains(job.Scope) { // jobs of other clients have that name too
		job, err = dialect.Job(ctx, c.options.Host, messages.JobID(string(c.scope)+"/"+id))
	}
	if isCode(err, messages.NotFound) {
		return messages.Record{}, none
	}
	return job, err
}
