package artifact

// Tail keeps the end of a text that comes in any pieces: at most limit bytes, from
// the beginning of a rune on. It holds twice as much at most. The zero Tail
// keeps nothing. It is not safe for concurrent use.
type Tail struct {
	limit int
	bytes []byte
	cut   bool // something came before held
}

// NewTail makes a Tail of so many bytes; 0 keeps nothing.
func NewTail(limit int) *Tail { return &Tail{limit: max(0, limit)} }

// Write adds a piece. It never fails.
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

// from is where in held the text begins.
func (t *Tail) from() int {
	at := max(0, len(t.bytes)-t.limit)
	if at == 0 && !t.cut {
		return 0
	}
	return alignFrom(t.bytes, at)
}

// String is the text as it is now. A rune that is not whole yet is left for later.
func (t *Tail) String() string {
	p := t.bytes[t.from():]
	return last(text(p[:wholeTo(p)]), t.limit)
}

// whole is the text when no more comes.
func (t *Tail) whole() string { return last(text(t.bytes[t.from():]), t.limit) }
