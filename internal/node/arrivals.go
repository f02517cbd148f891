package node

import (
	"math"
	"time"

	"troupe/messages"
)

// Arrivals returns a function for readers of a stream, who ask for offsets in ascending order.
// It returns when the byte at an offset arrived, to a second, and the offset up to which the time
// holds. The zero time is not known. A byte that is not recorded yet arrives now, up to
// math.MaxInt64.
func (n *Node) Arrivals(job messages.Record, stream messages.Stream) func(off int64) (at time.Time, to int64, err error) {
	c := &arrivalClock{node: n, job: job, stream: stream}
	for _, out := range job.Output {
		if out.Stream == stream {
			c.size = out.Bytes
		}
	}
	return c.at
}

// arrivalClock knows when the bytes of a stream arrived.
type arrivalClock struct {
	node   *Node
	job    messages.Record
	stream messages.Stream
	size   int64 // of the stream when the clock was made

	segments []messages.OutputSegment // the next ones
	more     bool                     // others follow them
	read     time.Time                // when they were read
}

const (
	// clockSegments bounds the segments in memory.
	clockSegments = 4096
	// clockAge is how long no new segments are read: a byte that arrived since then is dated
	// exactly enough.
	clockAge = time.Second
)

func (c *arrivalClock) at(off int64) (time.Time, int64, error) {
	for {
		for len(c.segments) > 0 && c.segments[0].To <= off {
			c.segments = c.segments[1:]
		}
		if len(c.segments) > 0 {
			s := c.segments[0]
			if off < s.From {
				return time.Time{}, s.From, nil
			}
			return s.At, s.To, nil
		}
		if !c.more && time.Since(c.read) < clockAge {
			break
		}
		if err := c.load(off); err != nil {
			return time.Time{}, 0, err
		}
	}
	if off < c.size {
		return time.Time{}, c.size, nil
	}
	return time.Now(), math.MaxInt64, nil
}

// load reads the segments from an offset on.
func (c *arrivalClock) load(off int64) error {
	c.segments, c.more, c.read = nil, false, time.Now()
	for s, err := range c.node.OutputOrder(c.job) {
		if err != nil {
			return err
		}
		if s.Stream != c.stream || s.To <= off {
			continue
		}
		if c.more = len(c.segments) == clockSegments; c.more {
			break
		}
		c.segments = append(c.segments, s)
	}
	return nil
}

// label returns the time of a line, for the text of a search.
func (c *arrivalClock) label(off int64) []byte {
	at, _, err := c.at(off)
	if err != nil {
		at = time.Time{}
	}
	return append([]byte(messages.ArrivalText(at)), ' ')
}
