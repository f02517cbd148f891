package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine bounds a line, in bytes: the text of a command has at most as many.
const MaxLine = 16 << 20

// readBuffer is the size of the buffer of a reader, in bytes. Most requests are shorter.
const readBuffer = 64 << 10

// lineReader reads lines. The last one needs no end.
type lineReader struct {
	in   *bufio.Reader
	rest bool // the rest of a long line is still to come
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, readBuffer)}
}

// next returns the next line without the blanks around it. It reports a line above MaxLine as
// soon as a full buffer shows it, and discards it. The error is that of the reader, with its last line.
func (l *lineReader) next() (line []byte, long bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		ends := !errors.Is(err, bufio.ErrBufferFull)
		switch {
		case l.rest:
			l.rest = !ends
			if err != nil && ends {
				return nil, false, err
			}
		case len(line)+len(part) > MaxLine:
			l.rest = !ends
			if ends {
				return nil, true, err
			}
			return nil, true, nil
		case ends:
			return bytes.TrimSpace(append(line, part...)), false, err
		default:
			line = append(line, part...)
		}
	}
}
