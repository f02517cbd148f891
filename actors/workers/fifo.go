package workers

// fifo is a first-in, first-out queue. Its memory follows its length, not its throughput.
// The zero fifo is empty.
type fifo[T any] struct {
	items []T
	first int // index of the oldest item
}

func (f *fifo[T]) len() int { return len(f.items) - f.first }

func (f *fifo[T]) push(v T) {
	if f.first > 0 && len(f.items) == cap(f.items) && f.first >= f.len() { // reuse the front instead of growing
		n := copy(f.items, f.items[f.first:])
		clear(f.items[n:])
		f.items, f.first = f.items[:n], 0
	}
	f.items = append(f.items, v)
}

// keptRoom bounds the capacity of an empty queue, in items. A burst leaves more.
const keptRoom = 128

// pop removes and returns the oldest item. The queue must not be empty.
func (f *fifo[T]) pop() T {
	var none T
	v := f.items[f.first]
	f.items[f.first] = none
	f.first++
	switch {
	case f.len() > 0:
	case cap(f.items) > keptRoom:
		*f = fifo[T]{}
	default:
		f.items, f.first = f.items[:0], 0
	}
	return v
}
