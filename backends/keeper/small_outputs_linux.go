package keeper

import "troupe/messages"

// maxRecent is how many jobs that are settled a client still knows the small logs of:
// whoever waited for a job reads it now, and the keeper need not be asked for it.
const maxRecent = 64

// recentOutputs are the small logs of the jobs that were settled last.
type recentOutputs struct {
	logs map[messages.UID]*[3]*remoteLog
	ring [maxRecent]messages.UID
	next int
}

// keep keeps the logs of a job in place of the oldest; nil: nothing is known.
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

// log is one of them, or nil.
func (r *recentOutputs) log(id messages.UID, s messages.Stream) *remoteLog {
	if outs := r.logs[id]; outs != nil && int(s) < len(outs) {
		return outs[s]
	}
	return nil
}

func (r *recentOutputs) drop(id messages.UID) { delete(r.logs, id) }

// small gives the logs of a job if all is known of them; else nil. Called with mu.
func (j *job) small() *[3]*remoteLog {
	outs := j.logs
	for _, o := range outs {
		if o != nil && !o.complete() {
			return nil
		}
	}
	return &outs
}

// complete reports whether nothing of the log is to be asked for.
func (o *remoteLog) complete() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hasAll && o.known && o.state.Closed
}
