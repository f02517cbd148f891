package shelltext

import "bytes"

// LineLimit finds where the first Lines lines of an output end, from pieces of any
// size and in no memory: by it a producer is ended as `| head` would, and its lines
// are taken from the start of the whole log, however little of it is shown.
type LineLimit struct {
	Lines int // above 0

	seen int
	at   int64
	done bool
}

// Feed takes the next piece of the output. It is true as soon as all lines are
// there, and says how many bytes they are, from the start of the output.
func (h *LineLimit) Feed(piece []byte) (int64, bool) {
	for !h.done && len(piece) > 0 {
		i := bytes.IndexByte(piece, '\n')
		if i < 0 {
			h.at += int64(len(piece))
			break
		}
		h.at += int64(i + 1)
		piece = piece[i+1:]
		h.seen++
		h.done = h.seen >= h.Lines
	}
	return h.at, h.done
}
