package engine

import "time"

// timeBudget bounds what something may take: one part in share of the time, beyond what it
// has saved up. It is for one goroutine at a time.
type timeBudget struct {
	share time.Duration
	most  time.Duration // that is saved

	saved time.Duration
	since time.Time
}

// spend counts what was taken up to now, and gives how long to rest before more is.
func (p *timeBudget) spend(now time.Time, took time.Duration) (rest time.Duration) {
	idle := now.Sub(p.since) - took
	p.saved = min(p.saved+idle/p.share, p.most) + took/p.share - took
	p.since = now
	return max(0, -p.saved*p.share)
}

// forgive forgets what was taken too much.
func (p *timeBudget) forgive() { p.saved = max(p.saved, 0) }
