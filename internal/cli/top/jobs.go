package top

import (
	"time"

	"troupe/internal/cli/out"
	"troupe/messages"
)

// jobs holds what is known of the daemon: the last lists, and the records of later events.
type jobs struct {
	all      map[messages.UID]*job
	scopes   []messages.ScopeInfo
	sessions []messages.SessionInfo
	finished bool // ended jobs stay
}

// job is a record with the share of a processor that the job used lately.
type job struct {
	messages.Record
	share   float64 // percent of one processor between the last two lists; negative: unknown
	sampled time.Time
}

// lists is what one refresh has read.
type lists struct {
	jobs     []messages.Record
	scopes   []messages.ScopeInfo
	sessions []messages.SessionInfo
	full     bool // with finished jobs, if they are shown
	at       time.Time
}

// replace takes new lists. A record of a later event stays: the event overtook the list. Jobs that
// had ended stay if the lists do not have such.
func (j *jobs) replace(l lists) {
	newest := messages.Seq(0)
	for _, r := range l.jobs {
		newest = max(newest, r.Seq)
	}
	was := j.all
	j.all, j.scopes, j.sessions = make(map[messages.UID]*job, len(l.jobs)), l.scopes, l.sessions
	for _, r := range l.jobs {
		next := &job{Record: r, share: -1, sampled: l.at}
		if old := was[r.UID]; old != nil {
			next.share = shareOf(old, r, l.at)
			if old.Seq > r.Seq {
				live, output := r.Live, r.Output
				next.Record = old.Record
				next.Live, next.Output = live, output
			}
		}
		j.add(next)
	}
	for uid, old := range was {
		if j.all[uid] == nil && (old.Seq > newest || !l.full && old.State.Ended()) {
			j.add(old)
		}
	}
}

// shareOf returns the share of a processor that a job used since its last list.
func shareOf(old *job, now messages.Record, at time.Time) float64 {
	since := at.Sub(old.sampled)
	if old.Live == nil || now.Live == nil || now.Live.Processes == 0 || since <= 0 {
		return -1
	}
	return max(0, 100*float64(now.Live.CPU-old.Live.CPU)/float64(since))
}

// merge takes the record of an event, or of a request for one job, unless a newer one is known.
func (j *jobs) merge(r messages.Record) {
	old := j.all[r.UID]
	next := &job{Record: r, share: -1}
	if old != nil {
		if old.Seq > r.Seq {
			return
		}
		next.share, next.sampled = old.share, old.sampled
		if next.Live = old.Live; out.OutputBytes(r) < out.OutputBytes(old.Record) { // an event has the size of its time
			next.Output = old.Output
		}
	}
	j.add(next)
}

// add stores a job, or drops one that has ended and is not shown.
func (j *jobs) add(next *job) {
	if next.State.Ended() && !j.finished {
		delete(j.all, next.UID)
		return
	}
	j.all[next.UID] = next
}

// counts counts jobs by what the summary says of them.
func (j *jobs) counts() (running, queued, waiting, ended int, share float64, memory int64) {
	for _, one := range j.all {
		switch {
		case one.State.Ended():
			ended++
			continue
		case one.State == messages.Queued:
			queued++
		default:
			running++
		}
		if one.WaitingForInput {
			waiting++
		}
		share += max(one.share, 0)
		if one.Live != nil {
			memory += one.Live.Memory
		}
	}
	return running, queued, waiting, ended, share, memory
}
