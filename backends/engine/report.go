package engine

import (
	"bytes"
	"strconv"
)

// report is a message of a live shell on its status FIFO: "NUL NONCE STATUS CWD NUL".
// The first NUL separates it from garbage.
type report struct {
	about   string // nonce of a command, or reportReady, reportAgain or reportSync
	runs    bool   // the command has opened its input, or exits: only cwd is set
	errexit bool   // set -e ends the command: nothing else is set
	pipe    []int  // statuses of the command's last pipeline: nothing else is set
	status  int
	cwd     string // "": unknown
}

const (
	reportReady = "ready" // in place of a nonce: the shell takes its first command
	reportAgain = "again" // likewise: an interrupt may have lost a control line
	reportSync  = "sync"  // likewise: all signals sent before have arrived
	reportRuns  = "run"   // in place of a status

	// In place of a status, before the report of that: an engine that does not know them
	// passes over them.
	reportErrexit = "errexit"
	reportPipe    = "pipe" // in place of the directory, the statuses
)

// maxPipe bounds the members of a pipeline whose statuses are kept.
const maxPipe = 256

// maxReport bounds a report in bytes. A longer one has an unknown directory, as in the
// kernel.
const maxReport = 8 << 10

// reports splits the status FIFO into reports. Any process may write to it: garbage is
// skipped up to the next NUL.
type reports struct {
	part []byte // of an incomplete report
	long bool   // it exceeds maxReport; the rest is dropped
}

// take calls each for the reports that end in p.
func (r *reports) take(p []byte, each func(report)) {
	for len(p) > 0 {
		text, rest, ended := bytes.Cut(p, []byte{0})
		p = rest
		if room := maxReport - len(r.part); len(text) > room {
			text, r.long = text[:room], true
		}
		if !ended {
			r.part = append(r.part, text...)
			return
		}
		if len(r.part) > 0 {
			text = append(r.part, text...)
		}
		if one, ok := parseReport(text, r.long); ok {
			each(one)
		}
		r.part, r.long = nil, false
	}
}

// parseReport parses a report. A directory that is cut or relative is dropped.
func parseReport(text []byte, cut bool) (r report, ok bool) {
	about, rest, ok := bytes.Cut(text, []byte{' '})
	if !ok {
		return r, false
	}
	status, cwd, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		return r, false
	}
	r.about = string(about)
	if !cut && len(cwd) > 0 && cwd[0] == '/' {
		r.cwd = string(cwd)
	}
	switch string(status) {
	case reportRuns:
		r.runs = true
		return r, true
	case reportErrexit:
		return report{about: r.about, errexit: true}, true
	case reportPipe:
		r.cwd, r.pipe = "", parsePipe(cwd)
		return r, r.pipe != nil && !cut
	}
	n, err := strconv.ParseInt(string(status), 10, 64)
	r.status = int(n & 0xff) // as a process would give it
	return r, err == nil
}

// parsePipe parses the statuses of a pipeline. It returns nil unless the pipeline hides a
// failure of a member that is not its last.
func parsePipe(text []byte) (all []int) {
	hidden := false
	for word := range bytes.FieldsSeq(text) {
		n, err := strconv.ParseUint(string(word), 10, 8)
		if err != nil || len(all) == maxPipe {
			return nil
		}
		hidden = hidden || len(all) > 0 && all[len(all)-1] != 0
		all = append(all, int(n))
	}
	if !hidden {
		return nil
	}
	return all
}
