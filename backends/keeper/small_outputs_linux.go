package keeper

import "troupe/messages"

// maxRecent bounds the settled jobs whose small logs a client keeps: a reader that
// waited for the job's end needs no request.
const maxRecent = 64

// recentOutputs holds the small logs of the jobs settled last.
type recentOutputs struct {
	logs map[messages.UID]*[3]*remoteLog
	ring [maxRecent]messages.UID
	next int
}

// keep stores the logs of a job in place of the oldest; nil: they are incomplete.
func (r *recentOutputs) keep(id messages.UID, outs *[3]*remoteLog) {
	if outs == nil {
		return
	}
	if r.logs == nil {
		r.logs = make(map[messages.UID]*[3]*remoteLog, maxRecent)
	}
	delete(r.logs, r.ring[r.next])
	r.logs[id], r.ring[r.next] = outs, id
	r.next = (r.next + 1) % maxRecent
}

// log returns a kept log; nil: none.
func (r *recentOutputs) log(id messages.UID, s messages.Stream) *remoteLog {
	if outs := r.logs[id]; outs != nil && int(s) < len(outs) {
		return outs[s]
	}
	return nil
}

func (r *recentOutputs) drop(id messages.UID) { delete(r.logs, id) }

// small returns the logs of a job if they are complete; nil: they are not. The caller
// holds mu.
func (j *job) small() *[3]*remoteLog {
	outs := j.logs
	for _, o := range outs {
		if o != nil && !o.complete() {
			return nil
		}
	}
	return &outs
}

// complete reports whether the whole log is known.
func (o *remoteLog) complete() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hasAll && o.known && o.state.Closed
}
