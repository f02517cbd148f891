package signals

import (
	"fmt"
	"syscall"
)

// Sender is the process that sent a signal.
type Sender struct {
	Signal  syscall.Signal
	PID     int    // 0: outside this pid namespace, or unknown
	Command string // its command line, shortened; "": unknown
	Job     string // id of its job, from TROUPE_JOB_ID; "": none
	UID     string // of that job, from TROUPE_TREE
	Refused string // why the signal has no effect; "": it is obeyed
	Quiet   bool   // one of too many refused signals in a second: not for a log
	Quieted int    // such signals since the last other one
}

// String describes the signal, its sender, and why it is refused:
// "TERM from process 12 (sh -c …) of job j3".
func (s Sender) String() string {
	text := signalName(s.Signal) + " from " + s.process()
	if s.Refused != "" {
		text += ": " + s.Refused
	}
	if s.Quieted > 0 {
		text += fmt.Sprintf(" (%d more were refused before)", s.Quieted)
	}
	return text
}

func (s Sender) process() string {
	switch {
	case s.PID == 0 && s.Refused != "":
		return "an unknown process"
	case s.PID == 0:
		return "a process of another pid namespace"
	}
	text := fmt.Sprintf("process %d", s.PID)
	if s.Command != "" {
		text += " (" + s.Command + ")"
	}
	if s.Job != "" {
		text += " of job " + s.Job
	}
	return text
}

// JobEnv is the job that the environment of a process names, "" where it names none.
type JobEnv struct {
	UID   string // from TROUPE_TREE; that of a live shell in place of its commands
	Scope string // from TROUPE_SCOPE
	id    string // from TROUPE_JOB_ID
}
