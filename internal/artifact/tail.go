package artifact

// Tail keeps the last limit bytes of a text that arrives in pieces, from the start of a
// rune on. Memory is at most twice the limit. The zero Tail keeps nothing. It
// is not safe for concurrent use.
type Tail struct {
	limit int
	bytes []byte
	cut   bool // earlier bytes were dropped
}

// NewTail returns a Tail of limit bytes; 0 keeps nothing.
func NewTail(limit int) *Tail { return &Tail{limit: max(0, limit)} }

// Write appends p. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if n >= t.limit {
		t.cut = t.cut || len(t.bytes) > 0 || n > t.limit
		t.bytes, p = t.bytes[:0], p[n-t.limit:]
	}
	t.bytes = append(t.bytes, p...)
	if len(t.bytes) > 2*t.limit {
		t.bytes = append(t.bytes[:0], t.bytes[t.from():]...)
		t.cut = true
	}
	return n, nil
}

// from returns where in t.bytes the text begins.
func (t *Tail) from() int {
	at := max(0, len(t.bytes)-t.limit)
	if at == 0 && !t.cut {
		return 0
	}
	return alignFrom(t.bytes, at)
}

// String returns the text so far, without an incomplete rune at its end.
func (t *Tail) String() string {
	p := t.bytes[t.from():]
	return last(text(p[:wholeTo(p)]), t.limit)
}

// whole returns the text when no more comes.
func (t *Tail) whole() string { return last(text(t.bytes[t.from():]), t.limit) }
