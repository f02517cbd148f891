package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"

	"troupe/internal/cli/config"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// readyPipe tells whoever started the daemon, once, that it takes requests or
// why it does not: an object on a pipe of theirs.
type readyPipe struct{ pipe *os.File }

// readyObject is what is told.
type readyObject struct {
	V     int             `json:"v"`
	Error *messages.Error `json:"error"` // null: it is ready
}

// newReadiness takes over a descriptor; 0 is nobody's.
func newReadiness(fd int) *readyPipe {
	if fd < 3 {
		return &readyPipe{}
	}
	syscall.CloseOnExec(fd)
	return &readyPipe{pipe: os.NewFile(uintptr(fd), "ready")}
}

func (r *readyPipe) tell(err error) {
	if r.pipe == nil {
		return
	}
	told := readyObject{V: messages.JSONVersion}
	if err != nil {
		told.Error = out.Coded(err)
	}
	_ = out.WriteJSON(r.pipe, told) // whoever started us may have gone
	_ = r.pipe.Close()
	r.pipe = nil
}

// Heard reads what a daemon tells of itself. One that ends before has told its
// log why.
func heard(from io.Reader, log string) error {
	var told readyObject
	if err := json.NewDecoder(io.LimitReader(from, config.MaxFile)).Decode(&told); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	} else if err != nil {
		return &messages.Error{Code: messages.Internal, Reason: "daemon", Message: "the daemon ended before it was ready", Hint: "see " + log}
	}
	if told.Error != nil {
		return told.Error
	}
	return nil
}
