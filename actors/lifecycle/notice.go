package lifecycle

import (
	"time"

	"troupe/messages"
)

// Notice is the delivery of one job's end to one command or URL. It decides about retries.
type Notice struct {
	Ended time.Time // of the job
	Tries int       // failed tries
}

// Limits for retries of a notice. The first ones are quick: most receivers are away for a
// moment. The age counts from the end of the job. So a queue of notices for a dead receiver
// costs one try each, not another day each.
const (
	NoticeFirst = time.Second
	NoticeMost  = 15 * time.Minute
	NoticeTries = 100
	NoticeAge   = 24 * time.Hour
)

// Failed decides after a failed try whether and when to try again. chance, from 0 to 1,
// spreads the notices that wait for one receiver.
func (n Notice) Failed(d messages.Delivered, now time.Time, chance float64) (next Notice, wait time.Duration, again bool) {
	n.Tries++
	wait = NoticeMost
	if shift := n.Tries - 1; shift < 10 { // 2^10 s is more than NoticeMost
		wait = min(NoticeFirst<<shift, NoticeMost)
	}
	wait = wait/2 + time.Duration(chance*float64(wait/2))
	wait = max(wait, d.After)
	again = !d.Gone && n.Tries < NoticeTries && now.Add(wait).Sub(n.Ended) <= NoticeAge
	return n, wait, again
}
