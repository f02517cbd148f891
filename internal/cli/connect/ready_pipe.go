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
type ReadyPipe struct {
	pipe *os.File // nil: none
	fd   int      // its number
}

// readyObject is the report on the pipe.
type readyObject struct {
	V     int             `json:"v"`
	PID   int             `json:"pid"`   // of the daemon
	Error *messages.Error `json:"error"` // null: ready
}

// NewReadiness takes over a descriptor; less than 3: none.
func NewReadiness(fd int) *ReadyPipe {
	if fd < 3 {
		return &ReadyPipe{}
	}
	syscall.CloseOnExec(fd)
	return &ReadyPipe{pipe: os.NewFile(uintptr(fd), "ready"), fd: fd}
}

// Inherited returns the files besides 0, 1 and 2 for a process that is to have the pipe under the
// same number.
func (r *ReadyPipe) Inherited() []*os.File {
	if r.pipe == nil {
		return nil
	}
	files := make([]*os.File, r.fd-2) // the first is 3
	files[len(files)-1] = r.pipe
	return files
}

// Tell reports that the daemon is ready, or why it is not.
func (r *ReadyPipe) Tell(err error) {
	if r.pipe == nil {
		return
	}
	report := readyObject{V: messages.JSONVersion, PID: os.Getpid()}
	if err != nil {
		report.Error = out.Coded(err)
	}
	_ = out.WriteJSON(r.pipe, report) // the process that started us may have gone
	_ = r.pipe.Close()
	r.pipe = nil
}

// ReadReport reads the report of a daemon, and returns its process id. A daemon that ends before
// its report has written the cause to its log.
func ReadReport(from io.Reader, log string) (pid int, err error) {
	var report readyObject
	if err := json.NewDecoder(io.LimitReader(from, config.MaxFile)).Decode(&report); errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, err
	} else if err != nil {
		return 0, &messages.Error{Code: messages.Internal, Reason: "daemon", Message: "the daemon exited before it was ready", Hint: "see " + log}
	}
	if report.Error != nil {
		return 0, report.Error
	}
	return report.PID, nil
}
