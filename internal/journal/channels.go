package journal

import (
	"time"

	"troupe/internal/codec"
	"troupe/messages"
)

// subscriber is the stored state of one channel.
type subscriber struct {
	Channel
	Seen time.Time `cbor:"5,keyasint,omitzero"` // time of the last write about it
}

// channels records the channels, acknowledgements and departures of a batch.
func (t *txn) channels(b Batch, now time.Time, most int) error {
	for _, c := range b.Channels {
		s := subscriber{Channel: c}
		s.Acked = min(s.Acked, t.totals.Last)
		if err := t.subscribe(s, now, most); err != nil {
			return err
		}
	}
	for _, a := range b.Acks {
		if err := t.acknowledge(a, now); err != nil {
			return err
		}
	}
	for _, id := range b.Left {
		if err := t.leave(id); err != nil {
			return err
		}
	}
	return nil
}

// subscribe stores a channel. A new one may displace others.
func (t *txn) subscribe(s subscriber, now time.Time, most int) error {
	if s.ID == "" {
		return nil
	}
	key := nameKey(string(s.ID))
	old, err := t.get(channelsBucket, key)
	if err != nil {
		return err
	}
	if old == nil {
		for t.totals.Channel >= uint64(most) {
			if err := t.dropIdlest(); err != nil {
				return err
			}
		}
		t.totals.Channel++
	}
	s.Seen = now
	return t.putChannel(key, s)
}

func (t *txn) acknowledge(a messages.Acknowledge, now time.Time) error {
	key := nameKey(string(a.Channel))
	body, err := t.get(channelsBucket, key)
	if body == nil || err != nil {
		return err
	}
	s, err := decode[subscriber](body)
	if err != nil {
		return err
	}
	s.Acked, s.Seen = max(s.Acked, min(a.Seq, t.totals.Last)), now
	return t.putChannel(key, s)
}

func (t *txn) putChannel(key []byte, s subscriber) error {
	body, err := codec.Encode(s)
	if err != nil {
		return err
	}
	return t.put(channelsBucket, key, body)
}

func (t *txn) leave(id messages.ChannelID) error {
	key := nameKey(string(id))
	if t.bucket(channelsBucket).Get(key) == nil {
		return nil
	}
	t.totals.Channel--
	return t.delete(channelsBucket, key)
}

// dropIdlest removes the channel with the oldest write.
func (t *txn) dropIdlest() error {
	var idlest subscriber
	err := t.eachChannel(func(s subscriber) {
		if idlest.ID == "" || s.Seen.Before(idlest.Seen) {
			idlest = s
		}
	})
	if err != nil {
		return err
	}
	return t.leave(idlest.ID)
}

func (t *txn) eachChannel(do func(subscriber)) error {
	c := t.bucket(channelsBucket).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		body, err := unseal(channelsBucket, k, v)
		if err != nil {
			return err
		}
		s, err := decode[subscriber](body)
		if err != nil {
			return err
		}
		do(s)
	}
	return nil
}

// Channels implements Outbox.
func (b *Bolt) Channels() ([]Channel, error) {
	var all []Channel
	err := b.view(func(t *txn) error {
		return t.eachChannel(func(s subscriber) { all = append(all, s.Channel) })
	})
	return all, err
}
