package http

import (
	"context"
	"net/http"
	"sync"

	"troupe/messages"
)

// pausedJob is a job that some of its readers pause.
type pausedJob struct {
	mu      sync.Mutex
	holders int // requests that have paused the job, or are about to
	users   int // references; the server's lock guards it
}

// pauseOutput pauses the output of a job while the request is open. The job then blocks
// on its full pipe, as if it wrote to its reader itself. The pause ends with the
// client's connection and with the job.
func (c *request) pauseOutput() error {
	r, err := read[messages.PauseOutput](c)
	if err != nil {
		return err
	}
	ctx, cancel := c.stream()
	defer cancel()
	job, err := c.node.Job(c.ctx, r.Job)
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
	if _, ended := end.(messages.WaitEnded); err != nil || !ended { // the node has too many waits
		<-ctx.Done()
	}
	return errAnswered
}

// pause pauses a job for its first holder.
func (c *request) pause(uid messages.UID) error {
	h := c.holdOf(uid)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holders == 0 {
		if _, err := ask(c, messages.PauseOutput{Job: messages.JobID(uid), Hold: true}); err != nil {
			c.resume(uid) // the job may have received the request
			c.letGo(uid)
			return err
		}
	}
	h.holders++
	return nil
}

// release resumes the job after its last holder, also if that has disconnected. An
// ended job needs no message, nor one that only the keeper still holds.
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

// resume resumes the output of a job.
func (c *request) resume(uid messages.UID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), patience)
	defer cancel()
	_, err := c.node.AskAgain(ctx, func() messages.Refusable { return messages.PauseOutput{Job: messages.JobID(uid)} })
	if err != nil {
		c.log.Warn("cannot resume the output of a paused job", "job", uid, "error", err)
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
