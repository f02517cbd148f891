package journal

import (
	"crypto/rand"
	"slices"

	"troupe/internal/codec"
	"troupe/messages"
)

// Origin is the identity of a journal from one opening to the next. A journal that was replaced
// lacks the origins of the former one; a backup that was restored lacks the later ones.
type Origin struct {
	ID    string       `cbor:"1,keyasint,omitzero"` // random
	After messages.Seq `cbor:"2,keyasint,omitzero"` // the newest fact at that time
}

// Origins returns the openings of a journal. They show whether it gave the number that a
// subscriber has (decision 083).
type Origins interface {
	// Origins returns up to maxOrigins openings, the oldest first.
	Origins() ([]Origin, error)
}

// maxOrigins bounds the stored openings: 35 KiB. Numbers of earlier ones count as those of another
// journal.
const maxOrigins = 1000

// originsKey is the key of the origins in the meta bucket.
var originsKey = []byte("origins")

// newOrigin returns the origin of a journal that is opened.
func newOrigin(after messages.Seq) Origin { return Origin{ID: rand.Text(), After: after} }

// opened records that the journal was opened.
func (t *txn) opened() error {
	kept, err := t.keptOrigins()
	if err != nil {
		return err
	}
	kept = append(kept, newOrigin(t.totals.Last))
	body, err := codec.Encode(kept[max(0, len(kept)-maxOrigins):])
	if err != nil {
		return err
	}
	t.changed = true
	return t.bucket(metaBucket).Put(originsKey, seal(metaBucket, originsKey, body))
}

func (t *txn) keptOrigins() ([]Origin, error) {
	body, err := t.get(metaBucket, originsKey)
	if body == nil || err != nil {
		return nil, err
	}
	return decode[[]Origin](body)
}

// Origins implements Origins.
func (b *Bolt) Origins() (all []Origin, err error) {
	err = b.view(func(t *txn) error {
		all, err = t.keptOrigins()
		return err
	})
	return all, err
}

// Origins implements Origins.
func (m *Memory) Origins() ([]Origin, error) {
	return look(m, func(*memoryTable) []Origin { return slices.Clone(m.origins) })
}
