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
	// orderStream is the stream number of an order index.
	orderStream = 3

	// orderBuffer is how many bytes of an index stay on the heap. A job with a thousand
	// changes of stream needs no descriptor for it.
	orderBuffer = 4 << 10

	// orderLimit bounds an index to about a million segments. Later output has no order
	// between its streams.
	orderLimit = 4 << 20

	// orderGrain bounds the time that one segment covers, so that the index records
	// times as well as order.
	orderGrain = time.Second
)

// order records the order in which two streams of a job arrive. An entry is two
// varints: length*2, plus 1 for stderr, and the milliseconds since the entry before.
type order struct {
	*sharedLog         // written entries
	to         *writer // nil for an index of an earlier store, which is complete

	mu   sync.Mutex
	last Segment // segment that may still grow
	buf  []byte  // entries that are not written
	base int64   // time of the last entry, in Unix milliseconds
	full bool
}

func newOrder(d *Disk, id, group string) *order {
	b := &sharedLog{disk: d, id: id, stream: orderStream, group: group, plan: &Plan{
		Inline: 4 * orderBuffer, Quota: orderLimit, Policy: Pause, Durability: Memory,
	}}
	return &order{sharedLog: b, to: newWriter(b, nil)}
}

// note records that n bytes arrived at off of a stream.
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

// flush encodes the last segment and writes the buffer if it is full.
func (o *order) flush() {
	if o.last.Length == 0 {
		return
	}
	o.buf, o.base = appendSegment(o.buf, o.last, o.base)
	o.last = Segment{}
	if len(o.buf) < orderBuffer {
		return
	}
	n, err := o.to.Append(o.buf)
	o.buf = o.buf[:copy(o.buf, o.buf[n:])]
	if err == ErrPaused || len(o.buf) > 16*orderBuffer { // at orderLimit, or the disk stays full
		o.full = true
	}
}

// encoded returns the approximate length of Order.Encoded.
func (o *order) encoded() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sharedLog.State().Size + int64(len(o.buf))
}

// store moves the index of a finished job into a file.
func (o *order) store() error {
	o.mu.Lock()
	if o.last.Length > 0 {
		o.buf, o.base = appendSegment(o.buf, o.last, o.base)
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

func appendSegment(buf []byte, p Segment, base int64) ([]byte, int64) {
	at := p.At.UnixMilli()
	buf = binary.AppendUvarint(buf, uint64(p.Length)<<1|uint64(p.Stream-Stdout))
	buf = binary.AppendUvarint(buf, uint64(max(0, at-base)))
	return buf, max(at, base)
}

// snapshot returns the index as it is now.
func (o *order) snapshot() *Order {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf := slices.Clone(o.buf)
	if o.last.Length > 0 {
		buf, _ = appendSegment(buf, o.last, o.base)
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

// index is the written part of an Order.
type index interface {
	io.ReaderAt
	io.Closer
}

// Order is the recorded order of a job's stdout and stderr at the time of the call.
type Order struct {
	log   index
	size  int64  // bytes of log to read
	rest  []byte // entries after them
	whole bool
}

// Encoded returns the entries for ParseOrder: little more than orderLimit bytes at
// most.
func (o *Order) Encoded() ([]byte, error) {
	data := make([]byte, o.size, o.size+int64(len(o.rest)))
	if _, err := io.ReadFull(io.NewSectionReader(o.log, 0, o.size), data); err != nil {
		return nil, err
	}
	return append(data, o.rest...), nil
}

// ParseOrder makes an Order of what Encoded and Whole returned. Its Pieces end with the
// data or at the first invalid entry.
func ParseOrder(data []byte, whole bool) *Order {
	return &Order{log: noIndex{}, rest: data, whole: whole}
}

type noIndex struct{}

func (noIndex) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

func (noIndex) Close() error { return nil }

// Whole reports whether the order is complete: an index is bounded.
func (o *Order) Whole() bool { return o.whole }

// Close releases the index.
func (o *Order) Close() error { return o.log.Close() }

// Pieces yields the entries in order. It ends early if the index cannot be read.
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

// Segment is one entry of the output order: Length bytes of Stream that arrived at At
// and begin at Offset of that stream's log.
type Segment struct {
	Stream uint8
	Offset int64
	Length int64
	At     time.Time
}

// timesMost bounds the remembered times of a merged log. The last quarter of an hour is
// known to the second; older times are coarser.
const timesMost = 1024

// arrivalTimes records when the bytes of a merged log arrived. Unlike an order it may
// forget entries, so it needs no log of its own.
type arrivalTimes struct {
	mu   sync.Mutex
	all  []arrivalTime
	size int64 // bytes with a recorded time
}

// arrivalTime says that the bytes from the upTo of the entry before to upTo arrived no
// later than a second after at.
type arrivalTime struct {
	at   time.Time
	upTo int64
}

// note records that n bytes arrived at off.
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

// cut forgets the times of the bytes from size on.
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

// thin drops every other entry of the older half, the earlier of two.
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

// snapshot returns the times as an Order of one stream.
func (t *arrivalTimes) snapshot() *Order {
	t.mu.Lock()
	all := slices.Clone(t.all)
	t.mu.Unlock()
	var buf []byte
	base, from := int64(0), int64(0)
	for _, m := range all {
		buf, base = appendSegment(buf, Segment{Stream: Stdout, Length: m.upTo - from, At: m.at}, base)
		from = m.upTo
	}
	return &Order{log: noIndex{}, rest: buf, whole: true}
}
