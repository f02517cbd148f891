package node

import (
	"context"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// Bounds of a node that reads the live states of jobs: the time of one request, with the wait for
// its turn, and the readings at a time. A keeper that does not answer delays nothing longer.
const (
	liveTimeout = time.Second
	liveAtOnce  = 2
)

// ReadLive sets Record.Live of the jobs that may have processes, as far as these can be read in
// time. Replies of Host have it if their request asks for it.
func (n *Node) ReadLive(ctx context.Context, jobs []messages.Record) {
	reader, can := n.parts.engine.(backends.LiveReader)
	var ids []messages.UID
	for _, j := range jobs {
		if j.PID > 0 && j.State != messages.Retired {
			ids = append(ids, j.UID)
		}
	}
	if !can || len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	select {
	case n.liveReads <- struct{}{}:
		defer func() { <-n.liveReads }()
	case <-ctx.Done():
		return
	}
	now := reader.ReadLive(ctx, ids)
	for i := range jobs {
		if state, read := now[jobs[i].UID]; read {
			jobs[i] = jobs[i].WithLive(state)
		}
	}
}
