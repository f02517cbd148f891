package workers

// fifo is a queue, oldest first. Its memory follows what waits in it, not what has
// gone through. The zero fifo is empty.
type fifo[T any] struct {
	items []T
	first int // of those that wait
}

func (f *fifo[T]) len() int { return len(f.items) - f.first }

func (f *fifo[T]) push(v T) {
	if f.first > 0 && len(f.items) == cap(f.items) && f.first >= f.len() { // rather than grow
		n := copy(f.items, f.items[f.first:])
		clear(f.items[n:])
		f.items, f.first = f.items[:n], 0
	}
	f.items = append(f.items, v)
}

// keptRoom is how much room an empty queue keeps: more was needed once, in a burst.
const keptRoom = 128

// pop takes the oldest; there must be one.
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
