package shelltext

import "bytes"

// LineLimit finds where the first Lines lines of an output end. It takes pieces of any
// size and uses constant memory. With it a producer can be ended as by `| head`, at the
// right place in the log.
type LineLimit struct {
	Lines int // above 0

	seen int
	at   int64
	done bool
}

// Feed takes the next piece of the output. It returns true after the last line, with
// the length of all lines from the start of the output, in bytes.
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
