package http

import (
	"context"
	"net/http"
	"os"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// health answers while the node accepts requests.
func (c *request) health() error {
	if err := c.node.Err(); err != nil {
		return err
	}
	h := api.Health{OK: true}
	if c.options.Keeper != nil {
		if err := c.options.Keeper(); err != nil {
			h.Keeper = err.Error()
		}
	}
	if c.options.Journal != nil {
		if err := c.options.Journal(); err != nil {
			h.Journal = err.Error()
		}
	}
	return c.reply(http.StatusOK, h)
}

func (c *request) version() error {
	about := api.About{Version: c.options.Version, PID: os.Getpid(), State: c.options.State, Faults: c.options.Faults}
	if c.options.Holder != nil {
		about.Keeper = c.options.Holder()
	}
	return c.reply(http.StatusOK, about)
}

// stats counts jobs, scopes, sessions and connections.
func (c *request) stats() error {
	jobs, err := ask(c, messages.ListJobs{Scope: c.root, Finished: true})
	if err != nil {
		return err
	}
	scopes, err := ask(c, messages.ListScopes{Path: c.root})
	if err != nil {
		return err
	}
	sessions, err := ask(c, messages.ListSessions{Scope: c.root})
	if err != nil {
		return err
	}
	out := api.Stats{
		Jobs: map[messages.State]int{}, Scopes: len(scopes.Scopes), Sessions: len(sessions.Sessions),
		Connections: c.open.now(), Subscriptions: int(c.subscriptions.Load()), UptimeMS: time.Since(c.began).Milliseconds(),
		Version: c.options.Version, PID: os.Getpid(),
	}
	for _, j := range jobs.Jobs {
		state := j.State
		if state.Ended() {
			state = messages.Finished
		}
		out.Jobs[state]++
	}
	return c.reply(http.StatusOK, out)
}

// shutdown shuts down the node. It goes on if the client disconnects.
func (c *request) shutdown() error {
	r, err := read[messages.ShutdownNode](c)
	if err != nil {
		return err
	}
	if c.root != "" {
		return c.outside("shut down the daemon")
	}
	if c.options.Shutdown == nil {
		return &messages.Error{
			Code: messages.Unsupported, Reason: "shutdown", Message: "cannot shut down this node: it is part of another program", Hint: "stop that program",
		}
	}
	left, err := c.options.Shutdown(context.WithoutCancel(c.ctx), r)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, messages.ShutdownDone{Survivors: left})
}
