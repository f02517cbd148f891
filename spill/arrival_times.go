package spill

import (
	"slices"
	"sync"
	"time"
)

// timesMost is how many moments of a merged log are remembered: those of the last
// quarter of an hour to a second, older ones the coarser the older they are.
const timesMost = 1024

// arrivalTimes records when the bytes of a merged log arrived. Their order is that of the
// log, so that unlike an order it can forget, and needs no log of its own.
type arrivalTimes struct {
	mu   sync.Mutex
	all  []arrivalTime
	size int64 // bytes that were noted
}

// arrivalTime says that the bytes before upTo, behind those of the moment before it,
// arrived within a second from at, or earlier.
type arrivalTime struct {
	at   time.Time
	upTo int64
}

// note says that n bytes arrived at off.
func (t *arrivalTimes) note(off, n int64) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size = off + n
	if last := len(t.all) - 1; last >= 0 && now.Sub(t.all[last].at) < orderGrain {
		t.all[last].upTo = t.size
		return
	}
	if len(t.all) >= timesMost {
		t.thin()
	}
	t.all = append(t.all, arrivalTime{at: now, upTo: t.size})
}

// cut forgets what was noted of bytes behind size.
func (t *arrivalTimes) cut(size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.all {
		if t.all[i].upTo >= size {
			t.all[i].upTo = size
			t.all = t.all[:i+1]
			break
		}
	}
	t.size = min(t.size, size)
}

// thin makes one of every two moments of the older half: the later.
func (t *arrivalTimes) thin() {
	half := len(t.all) / 2
	kept := t.all[:0]
	for i, m := range t.all {
		if i >= half || i%2 == 1 {
			kept = append(kept, m)
		}
	}
	t.all = kept
}

// snapshot is what is known now, as an Order of one stream.
func (t *arrivalTimes) snapshot() *Order {
	t.mu.Lock()
	all := slices.Clone(t.all)
	t.mu.Unlock()
	var buf []byte
	base, from := int64(0), int64(0)
	for _, m := range all {
		buf, base = appendPiece(buf, Segment{Stream: Stdout, Length: m.upTo - from, At: m.at}, base)
		from = m.upTo
	}
	return &Order{log: noIndex{}, rest: buf, whole: true}
}
