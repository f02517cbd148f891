package daemon

import (
	"context"
	"slices"
	"time"

	"troupe/internal/cli/connect"
	"troupe/messages"
)

// endIdle ends a daemon that a client has started, when it has held nothing for a time: no live
// job, no live shell, no leftover process, no notice to deliver, and no connection. The history
// stays, and the next client starts the next daemon.
func (d *daemon) endIdle(after time.Duration) {
	began := time.Now()
	for wait := after; ; {
		select {
		case <-time.After(wait):
		case <-d.ended:
			return
		}
		closed, unused := d.server.Unused() // before the lists: who connects later is seen by CloseUnused
		since, held := d.held()
		if closed.After(since) {
			since = closed
		}
		if first := began.Add(connect.StartPatience - after); closed.IsZero() && first.After(since) { // its client is yet to connect
			since = first
		}
		wait = after
		switch left := after - time.Since(since); {
		case held || !unused:
		case left > 0:
			wait = left
		case d.server.CloseUnused(closed):
			d.log.Info().Stringer("idle", after).Msg("nothing runs and no client is connected: shutting down")
			if err := connect.LeaveIdle(d.settings.State); err != nil {
				d.log.Warn().Err(err).Msg("cannot note the idle end in the lock file: verbs find no daemon until a command starts one")
			}
			if d.end() != nil {
				d.once.Do(func() { close(d.ended) }) // no client can reach it any more
			}
			return
		}
	}
}

func pending(n messages.Notice) bool { return n.State == messages.NoticePending }

// held reports whether the daemon has anything to hold, and when the last job ended.
func (d *daemon) held() (since time.Time, held bool) {
	ctx, cancel := context.WithTimeout(d.urgent, connect.ReplyPatience)
	defer cancel()
	reply, err := d.node.Ask(ctx, messages.ListJobs{Finished: true})
	jobs, listed := reply.(messages.JobList)
	if err != nil || !listed {
		return since, true
	}
	for _, job := range jobs.Jobs {
		held = held || !job.State.Ended() || slices.ContainsFunc(job.OnFinish, pending)
		if job.End.At.After(since) {
			since = job.End.At
		}
	}
	reply, err = d.node.Ask(ctx, messages.ListSessions{})
	sessions, listed := reply.(messages.SessionList)
	if err != nil || !listed {
		return since, true
	}
	return since, held || slices.ContainsFunc(sessions.Sessions, func(s messages.SessionInfo) bool {
		return s.Shell != "" || s.Adopted > 0 || !s.Idle()
	})
}
