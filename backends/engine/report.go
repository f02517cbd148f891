package engine

import (
	"bytes"
	"strconv"
)

// report is one word of a live shell on its status FIFO: "NONCE STATUS CWD NUL". It
// begins with a NUL, too, so that no garbage before it becomes a part of it.
type report struct {
	about  string // the nonce of a command, or reportReady
	runs   bool   // the command has opened its input, or exits: it says no more than where it is
	status int
	cwd    string // "": not known
}

const (
	reportReady = "ready" // in place of a nonce: the shell takes its first command
	reportAgain = "again" // likewise: it may have lost what it was told, for an interrupt
	reportSync  = "sync"  // likewise: what was sent to it before has come
	reportRuns  = "run"   // in place of a status
)

// maxReport bounds a report. The directory of a longer one, of which the kernel knows
// none, is not known.
const maxReport = 8 << 10

// reports takes the status FIFO apart. Anybody may write to it: what is no report
// changes nothing, and the next begins behind its end.
type reports struct {
	part []byte // of one that has not ended
	long bool   // and the rest of which is dropped
}

// take gives each report that ends in p.
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

// parseReport reads one. What was cut off, or is not absolute, is no directory.
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
	if string(status) == reportRuns {
		r.runs = true
		return r, true
	}
	n, err := strconv.ParseInt(string(status), 10, 64)
	r.status = int(n & 0xff) // as a process would give it
	return r, err == nil
}
