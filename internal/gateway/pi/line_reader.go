package pi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line in memory, in bytes: it can have the longest command that the node
// takes.
const maxLine = 16 << 20

// errLong reports a line above maxLine.
var errLong = fmt.Errorf("the line has more than %d bytes", maxLine)

// lineReader reads lines that only LF ends.
type lineReader struct {
	in   *bufio.Reader
	skip bool // the rest of a long line comes next
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10)} // what a pipe holds
}

// next returns the next line without its LF and a CR before it. A last line needs no LF. For a
// long line it returns errLong as soon as that is known, and the next call skips the rest.
func (r *lineReader) next() (line []byte, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case r.skip:
			r.skip = more
		case len(line)+len(part) > maxLine+len("\r\n"):
			r.skip = more
			return nil, errLong
		default:
			if line = append(line, part...); more {
				continue
			}
			if err == nil || errors.Is(err, io.EOF) && len(line) > 0 {
				return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
			}
		}
		if err != nil && !more {
			return nil, err
		}
	}
}
