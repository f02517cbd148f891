package connect

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

// ReadyPipe reports once, to the process that started the daemon, that the daemon is
// ready or why not. It writes an object to a pipe of that process.
type ReadyPipe struct{ pipe *os.File }

// readyObject is the report on the pipe.
type readyObject struct {
	V     int             `json:"v"`
	Error *messages.Error `json:"error"` // null: ready
}

// NewReadiness takes over a descriptor; less than 3: none.
func NewReadiness(fd int) *ReadyPipe {
	if fd < 3 {
		return &ReadyPipe{}
	}
	syscall.CloseOnExec(fd)
	return &ReadyPipe{pipe: os.NewFile(uintptr(fd), "ready")}
}

// Tell reports that the daemon is ready, or why it is not.
func (r *ReadyPipe) Tell(err error) {
	if r.pipe == nil {
		return
	}
	report := readyObject{V: messages.JSONVersion}
	if err != nil {
		report.Error = out.Coded(err)
	}
	_ = out.WriteJSON(r.pipe, report) // the process that started us may have gone
	_ = r.pipe.Close()
	r.pipe = nil
}

// ReadReport reads the report of a daemon. A daemon that ends before its report has written
// the cause to its log.
func ReadReport(from io.Reader, log string) error {
	var report readyObject
	if err := json.NewDecoder(io.LimitReader(from, config.MaxFile)).Decode(&report); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	} else if err != nil {
		return &messages.Error{Code: messages.Internal, Reason: "daemon", Message: "the daemon exited before it was ready", Hint: "see " + log}
	}
	if report.Error != nil {
		return report.Error
	}
	return nil
}
