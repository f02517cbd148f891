package lifecycle

import (
	"time"

	"troupe/messages"
)

// Notice is the telling of one job's end to one command or URL, as it decides
// whether to try again.
type Notice struct {
	Ended time.Time // of the job
	Tries int       // that have failed
}

// How a notice is tried again: soon, since most receivers are away for a moment; less
// and less often, since the others are away for hours; and not for ever. The age
// counts from the end of the job, so that behind a receiver that is dead for good
// each of a thousand notices is tried once more, and not a day longer.
const (
	NoticeFirst = time.Second
	NoticeMost  = 15 * time.Minute
	NoticeTries = 100
	NoticeAge   = 24 * time.Hour
)

// Failed decides what follows a try that failed: another after a while, or none.
// chance, from 0 to 1, spreads those who wait for one receiver.
func (n Notice) Failed(d messages.Delivered, now time.Time, chance float64) (next Notice, wait time.Duration, again bool) {
	n.Tries++
	wait = NoticeMost
	if shift := n.Tries - 1; shift < 10 { // 2^10 s is more than the most
		wait = min(NoticeFirst<<shift, NoticeMost)
	}
	wait = wait/2 + time.Duration(chance*float64(wait/2))
	wait = max(wait, d.After)
	again = !d.Gone && n.Tries < NoticeTries && now.Add(wait).Sub(n.Ended) <= NoticeAge
	return n, wait, again
}
