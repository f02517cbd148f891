package engine

import "time"

// timeBudget limits an activity to one part in share of the time, beyond what it has
// saved. It is for one goroutine at a time.
type timeBudget struct {
	share time.Duration
	most  time.Duration // limit of saved

	saved time.Duration
	since time.Time
}

// spend counts took, up to now, and returns how long to rest.
func (p *timeBudget) spend(now time.Time, took time.Duration) (rest time.Duration) {
	idle := now.Sub(p.since) - took
	p.saved = min(p.saved+idle/p.share, p.most) + took/p.share - took
	p.since = now
	return max(0, -p.saved*p.share)
}

// forgive drops a debt.
func (p *timeBudget) forgive() { p.saved = max(p.saved, 0) }
