package inject

import (
	"bytes"
	"context"
	"io"

	"troupe/faults"
	"troupe/internal/gateway/http"
	"troupe/messages"
)

// output is an output whose reader meets faults.
type output struct {
	http.Output
	ctx context.Context
	due []faults.Fault
	cut bool
}

// Read implements io.Reader.
func (o *output) Read(b []byte) (int, error) {
	if o.cut {
		return 0, io.EOF
	}
	for _, f := range o.due {
		if f.Do == faults.SlowReader {
			b = b[:min(len(b), f.Bytes)]
		}
		if f.Do == faults.SlowReader || f.Do == faults.Delay {
			pause(o.ctx, f.For)
		}
	}
	n, err := o.Output.Read(b)
	left := o.due[:0]
	for _, f := range o.due {
		n = copy(b, changed(b[:n], f))
		o.cut = o.cut || f.Do == faults.Cut
		if f.Do == faults.SlowReader {
			left = append(left, f) // of the whole output; others happen once
		}
	}
	o.due = left
	return n, err
}

// changed returns what a client gets in place of b.
func changed(b []byte, f faults.Fault) []byte {
	switch f.Do {
	case faults.Garbage:
		n := min(len(b), f.Bytes)
		return append(bytes.Repeat([]byte{0xff}, n), b[n:]...)
	case faults.Cut:
		return b[:min(len(b), f.Bytes)]
	}
	return b
}

// readError returns the error of a read that fails, or nil.
func readError(due []faults.Fault) error {
	for _, f := range due {
		if f.Do == faults.Errno {
			return &messages.Error{Code: messages.OutputUnavailable, Reason: f.Errno, Message: "the output cannot be read: " + f.Errno}
		}
	}
	return nil
}
