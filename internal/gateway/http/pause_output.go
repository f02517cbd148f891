package http

import (
	"context"
	"net/http"
	"sync"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// pausedJob is a job that some of its readers hold back.
type pausedJob struct {
	mu      sync.Mutex
	holders int // that have asked the job, or are about to
	users   int // guarded by the server's lock
}

// pauseOutput holds a job back for as long as the request is open: it blocks on its own
// full pipe, as it would if it wrote to its reader itself. Bound to a connection,
// a hold does not outlive whoever wants it, nor the job.
func (c *request) pauseOutput() error {
	if err := c.body(&wire.Empty{}, maxBody); err != nil {
		return err
	}
	ctx, cancel := c.stream()
	defer cancel()
	job, err := c.node.Job(c.ctx, c.id())
	if err != nil {
		return err
	}
	if err := c.pause(job.UID); err != nil {
		return err
	}
	defer c.release(job.UID)
	c.w.Header().Set("Content-Type", "text/plain")
	c.w.WriteHeader(http.StatusOK)
	if http.NewResponseController(c.w).Flush() != nil {
		return errAnswered
	}
	end, err := c.node.Ask(ctx, messages.WaitJobs{Jobs: []messages.JobID{messages.JobID(job.UID)}})
	if _, ended := end.(messages.WaitEnded); err != nil || !ended { // more waits than the node takes
		<-ctx.Done()
	}
	return errAnswered
}

// pause holds a job that nobody held.
func (c *request) pause(uid messages.UID) error {
	h := c.holdOf(uid)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holders == 0 {
		if _, err := ask[messages.Acknowledged](c, messages.PauseOutput{Job: messages.JobID(uid), Hold: true}); err != nil {
			c.resume(uid) // it may have been heard all the same
			c.letGo(uid)
			return err
		}
	}
	h.holders++
	return nil
}

// release lets the job go on that nobody else holds, also when whoever held it
// has vanished. A job that has ended, or is the keeper's again, needs no word.
func (c *request) release(uid messages.UID) {
	defer c.letGo(uid)
	c.mu.Lock()
	h := c.held[uid]
	c.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holders--; h.holders == 0 {
		c.resume(uid)
	}
}

// resume tells a job that nobody holds it back.
func (c *request) resume(uid messages.UID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), patience)
	defer cancel()
	_, err := c.node.AskAgain(ctx, func() messages.Refusable { return messages.PauseOutput{Job: messages.JobID(uid)} })
	if err != nil {
		c.log.Warn("a job that was held back did not hear that it may go on", "job", uid, "error", err)
	}
}

func (s *Server) holdOf(uid messages.UID) *pausedJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[uid] == nil {
		s.held[uid] = &pausedJob{}
	}
	s.held[uid].users++
	return s.held[uid]
}

func (s *Server) letGo(uid messages.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[uid].users--; s.held[uid].users == 0 {
		delete(s.held, uid)
	}
}
