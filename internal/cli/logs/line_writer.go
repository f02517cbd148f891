package logs

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"troupe/messages"
)

// lineMost bounds the unfinished line of a stream in memory, in bytes. A longer line is printed
// in parts, each on a line of its own.
const lineMost = 64 << 10

// lineWriter prints whole lines with a label in front of each. Each of its writes ends with a
// line, so that the lines of several writers do not mix.
type lineWriter struct {
	to    io.Writer
	label string
	times bool      // print the time of each line
	at    time.Time // when the next bytes arrived

	line  []byte    // unfinished
	begun time.Time // when its first byte arrived
	whole []byte    // lines to be written
}

// Write implements io.Writer.
func (w *lineWriter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		if len(w.line) == 0 {
			w.begun = w.at
		}
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		n = min(n, lineMost-len(w.line))
		w.line, rest = append(w.line, rest[:n]...), rest[n:]
		if w.line[len(w.line)-1] != '\n' && len(w.line) < lineMost {
			break
		}
		w.finish()
		if len(w.whole) >= lineMost {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), w.flush()
}

// finish ends the line.
func (w *lineWriter) finish() {
	w.whole = append(w.whole, w.label...)
	if w.times {
		w.whole = append(append(w.whole, messages.ArrivalText(w.begun)...), ' ')
	}
	if w.whole = append(w.whole, w.line...); w.line[len(w.line)-1] != '\n' {
		w.whole = append(w.whole, '\n')
	}
	w.line = w.line[:0]
}

func (w *lineWriter) flush() error {
	if len(w.whole) == 0 {
		return nil
	}
	_, err := w.to.Write(w.whole)
	w.whole = w.whole[:0]
	return err
}

// end prints the unfinished line.
func (w *lineWriter) end() error {
	if len(w.line) > 0 {
		w.finish()
	}
	return w.flush()
}

// labelled returns the label of a job's lines: its name, padded, and on a terminal in a colour of
// its own, which also ends that of the line before.
func labelled(name string, width, number int, coloured bool) string {
	text := fmt.Sprintf("%-*s |", width, name)
	if !coloured {
		return text + " "
	}
	return fmt.Sprintf("\x1b[0;%dm%s\x1b[0m ", colours[number%len(colours)], text)
}

// colours are those of jobs, as SGR codes: all that are readable on dark and on light.
var colours = []int{36, 33, 32, 35, 34, 96, 93, 92, 95, 94}
