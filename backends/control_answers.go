package backends

// Number is a control without its number, and that; 0: it has none.
func Number(c Control) (Control, uint64) {
	if n, is := c.(Sequenced); is {
		return n.Control, n.Nth
	}
	return c, 0
}

// DeliverAnswered says the answers of a list that can be told, and returns the rest: of tells
// the number of each, and whether it is known. One without a number waits until those
// without one before it are known.
func DeliverAnswered[A any](list []*A, of func(*A) (nth uint64, known bool), say func(*A)) []*A {
	rest, waits := list[:0], false
	for _, a := range list {
		nth, known := of(a)
		if known && (nth > 0 || !waits) {
			say(a)
			continue
		}
		waits = waits || nth == 0
		rest = append(rest, a)
	}
	clear(list[len(rest):])
	return rest
}
