package journal

import (
	"slices"

	"troupe/internal/codec"
	"troupe/messages"
)

// SessionEnds returns the last ends of sessions and of their live shells. They outlast
// the facts, and show clients what became of a missing shell.
type SessionEnds interface {
	// Ends returns up to messages.MaxRecent ends, the last one first.
	Ends() ([]messages.SessionEnd, error)
}

// lastEnds adds more, whose last is the newest, to kept and bounds the result. Known
// ends are not added again.
func lastEnds(kept, more []messages.SessionEnd) []messages.SessionEnd {
	for _, end := range more {
		if !slices.ContainsFunc(kept, func(e messages.SessionEnd) bool {
			return e.Scope == end.Scope && e.Session == end.Session && e.At.Equal(end.At)
		}) {
			kept = slices.Insert(kept, 0, end)
		}
	}
	return kept[:min(len(kept), messages.MaxRecent)]
}

// endsKey is the key of the ends in the meta bucket.
var endsKey = []byte("ends")

// ends records the session ends of a batch.
func (t *txn) ends(more []messages.SessionEnd) error {
	if len(more) == 0 {
		return nil
	}
	kept, err := t.keptEnds()
	if err != nil {
		return err
	}
	t.changed = true
	body, err := codec.Encode(lastEnds(kept, more))
	if err != nil {
		return err
	}
	return t.bucket(metaBucket).Put(endsKey, seal(metaBucket, endsKey, body))
}

func (t *txn) keptEnds() ([]messages.SessionEnd, error) {
	body, err := t.get(metaBucket, endsKey)
	if body == nil || err != nil {
		return nil, err
	}
	return decode[[]messages.SessionEnd](body)
}

// Ends implements SessionEnds.
func (b *Bolt) Ends() (ends []messages.SessionEnd, err error) {
	err = b.view(func(t *txn) error {
		ends, err = t.keptEnds()
		return err
	})
	return ends, err
}

// Ends implements SessionEnds.
func (m *Memory) Ends() ([]messages.SessionEnd, error) {
	return look(m, func(k *memoryTable) []messages.SessionEnd { return slices.Clone(k.ends) })
}
