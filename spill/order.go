package spill

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"iter"
	"slices"
	"sync"
	"time"
)

const (
	// orderStream names the log of the order index.
	orderStream = 3

	// orderBuffer is how much of an index stays in plain memory: a job that
	// changes streams a thousand times needs no descriptor for it.
	orderBuffer = 4 << 10

	// orderLimit bounds an index: about a million changes of stream. What comes
	// later is read stream by stream.
	orderLimit = 4 << 20

	// orderGrain is how long pieces of one stream are taken as one, so that the
	// index keeps time as well as order.
	orderGrain = time.Second
)

// order records in which order two streams of a job arrived. An entry is two
// varints: length*2 plus 1 for stderr, and the milliseconds since the entry before.
type order struct {
	*sharedLog         // the part that is written
	to         *writer // nil: it was found, and is whole

	mu   sync.Mutex
	last Segment // may still grow
	buf  []byte  // not yet written
	base int64   // time of the last entry in buf or written
	full bool
}

func newOrder(d *Disk, id, group string) *order {
	b := &sharedLog{disk: d, id: id, stream: orderStream, group: group, plan: &Plan{
		Inline: 4 * orderBuffer, Quota: orderLimit, Policy: Pause, Durability: Memory,
	}}
	return &order{sharedLog: b, to: newWriter(b, nil)}
}

// note says that n bytes arrived at off of a stream.
func (o *order) note(stream uint8, off, n int64) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.full {
		return
	}
	if o.last.Length > 0 && o.last.Stream == stream && now.Sub(o.last.At) < orderGrain {
		o.last.Length += n
		return
	}
	o.flush()
	o.last = Segment{Stream: stream, Offset: off, Length: n, At: now}
}

// flush makes an entry of the last piece, and writes the entries if they are many.
func (o *order) flush() {
	if o.last.Length == 0 {
		return
	}
	o.buf, o.base = appendPiece(o.buf, o.last, o.base)
	o.last = Segment{}
	if len(o.buf) < orderBuffer {
		return
	}
	n, err := o.to.Append(o.buf)
	o.buf = o.buf[:copy(o.buf, o.buf[n:])]
	if err == ErrPaused || len(o.buf) > 16*orderBuffer { // at its bound, or on a disk that stays full
		o.full = true
	}
}

// encoded is about how many bytes Order.Encoded has.
func (o *order) encoded() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sharedLog.State().Size + int64(len(o.buf))
}

// store makes a file of the index, as it is at the end of its job.
func (o *order) store() error {
	o.mu.Lock()
	if o.last.Length > 0 {
		o.buf, o.base = appendPiece(o.buf, o.last, o.base)
		o.last = Segment{}
	}
	var err error
	if len(o.buf) > 0 {
		var n int
		n, err = o.to.Append(o.buf)
		o.buf = o.buf[:copy(o.buf, o.buf[n:])]
	}
	o.mu.Unlock()
	if err != nil {
		return err
	}
	return o.sharedLog.toFile()
}

func appendPiece(buf []byte, p Segment, base int64) ([]byte, int64) {
	at := p.At.UnixMilli()
	buf = binary.AppendUvarint(buf, uint64(p.Length)<<1|uint64(p.Stream-Stdout))
	buf = binary.AppendUvarint(buf, uint64(max(0, at-base)))
	return buf, max(at, base)
}

// snapshot is the index as it is now.
func (o *order) snapshot() *Order {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf := slices.Clone(o.buf)
	if o.last.Length > 0 {
		buf, _ = appendPiece(buf, o.last, o.base)
	}
	return &Order{log: o.sharedLog.reader(), size: o.sharedLog.State().Size, rest: buf, whole: !o.full}
}

func (o *order) remove() error {
	err := o.sharedLog.end()
	if rerr := o.sharedLog.remove(); err == nil {
		err = rerr
	}
	return err
}

// index is what an Order is read from, and rest after it.
type index interface {
	io.ReaderAt
	io.Closer
}

// Order is the order of arrival of a job's stdout and stderr, as far as it was
// recorded when it was asked for.
type Order struct {
	log   index
	size  int64
	rest  []byte
	whole bool
}

// Encoded is the index as ParseOrder reads it elsewhere: orderLimit and a little
// more at most.
func (o *Order) Encoded() ([]byte, error) {
	data := make([]byte, o.size, o.size+int64(len(o.rest)))
	if _, err := io.ReadFull(io.NewSectionReader(o.log, 0, o.size), data); err != nil {
		return nil, err
	}
	return append(data, o.rest...), nil
}

// ParseOrder takes what Encoded gave, and whether the Order was whole. Its Pieces
// end where the data does, or makes no sense.
func ParseOrder(data []byte, whole bool) *Order {
	return &Order{log: noIndex{}, rest: data, whole: whole}
}

type noIndex struct{}

func (noIndex) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

func (noIndex) Close() error { return nil }

// Whole reports whether everything was recorded: the index is bounded.
func (o *Order) Whole() bool { return o.whole }

// Close lets go of the index.
func (o *Order) Close() error { return o.log.Close() }

// Pieces are the entries, in order. They end early if the index cannot be read.
func (o *Order) Pieces() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		r := bufio.NewReader(io.MultiReader(io.NewSectionReader(o.log, 0, o.size), bytes.NewReader(o.rest)))
		var at int64
		var offset [2]int64
		for {
			n, err := binary.ReadUvarint(r)
			if err != nil {
				return
			}
			after, err := binary.ReadUvarint(r)
			if err != nil {
				return
			}
			stream, length := n&1, int64(n>>1)
			at += int64(after)
			if !yield(Segment{Stream: Stdout + uint8(stream), Offset: offset[stream], Length: length, At: time.UnixMilli(at)}) {
				return
			}
			offset[stream] += length
		}
	}
}

// Segment is one entry of the order index of separate streams: Length bytes that
// arrived on Stream at At, found at Offset of that stream's log.
type Segment struct {
	Stream uint8
	Offset int64
	Length int64
	At     time.Time
}

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
