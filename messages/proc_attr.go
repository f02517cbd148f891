package messages

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ProcAttr is what the process of a job gets from its request beside program, place,
// environment and streams. It travels from the request to the engine as it is. A new attribute
// is a field here with its check, and its use in the engine.
type ProcAttr struct {
	Limits     Limits `json:"limits,omitzero" cbor:"1,keyasint,omitzero"`
	StopSignal string `json:"stop_signal,omitzero" cbor:"2,keyasint,omitzero"` // begins a stop: "INT", "SIGINT", "2"; "": TERM

	IdleTimeout time.Duration `json:"idle_timeout_ms,omitzero" cbor:"3,keyasint,omitzero"` // the job is stopped when it has written nothing for so long; 0: never
}

// Bounds of what is stored with each job. A longer text has only more zeros or repeats than a
// shorter one of the same meaning.
const (
	maxSignalText = 16   // bytes
	maxRlimits    = 64   // entries
	maxRlimitText = 64   // bytes
	maxCPUsText   = 4096 // bytes
)

// check returns what is wrong with the attributes, or nil.
func (a ProcAttr) check() *Error {
	if a.StopSignal != "" && (len(a.StopSignal) > maxSignalText || SignalNumber(a.StopSignal) == 0) {
		return Invalid("stop_signal", fmt.Sprintf("invalid signal %.64q: use a name such as INT, or a number from 1 to 64", a.StopSignal))
	}
	return a.Limits.check()
}

// Limits bound what a process may use. What they leave out is the engine's own. Where the
// kernel does not let the engine give one, the job has the nearest that it allows, and
// FlagLimitsRefused.
type Limits struct {
	// Rlimits are the limits of setrlimit(2), as "nofile=1024:4096": the soft and the hard one,
	// each a number, "unlimited", or "" for the engine's. "nofile=64" is both.
	Rlimits []string `json:"rlimits,omitzero" cbor:"1,keyasint,omitzero"`
	Nice    int      `json:"nice,omitzero" cbor:"2,keyasint,omitzero"` // -20 to 19; 0: the engine's
	CPUs    string   `json:"cpus,omitzero" cbor:"3,keyasint,omitzero"` // it may run on, as "0-3,7"; "": the engine's
}

// IsZero reports whether nothing is limited beyond the engine's own limits.
func (l Limits) IsZero() bool { return len(l.Rlimits) == 0 && l.Nice == 0 && l.CPUs == "" }

// rlimitNames are the names of resources, in order.
var rlimitNames = []string{
	"as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue",
	"nice", "nofile", "nproc", "rss", "rtprio", "rttime", "sigpending", "stack",
}

// Unlimited is the value of a limit that does not bound.
const Unlimited uint64 = math.MaxUint64

// Rlimit is one entry of Limits.Rlimits.
type Rlimit struct {
	Name       string
	Soft, Hard *uint64 // nil: the engine's
}

// ParseRlimit parses an entry of Limits.Rlimits. ok is false if its form, its order or its name
// is wrong.
func ParseRlimit(text string) (r Rlimit, ok bool) {
	name, values, _ := strings.Cut(text, "=")
	soft, hard, both := strings.Cut(values, ":")
	if !both {
		hard = soft
	}
	var valid [2]bool
	r.Name = name
	r.Soft, valid[0] = parseLimit(soft)
	r.Hard, valid[1] = parseLimit(hard)
	ordered := r.Soft == nil || r.Hard == nil || *r.Soft <= *r.Hard
	return r, valid[0] && valid[1] && ordered && (r.Soft != nil || r.Hard != nil) && slices.Contains(rlimitNames, name)
}

func parseLimit(text string) (n *uint64, ok bool) {
	switch text {
	case "":
		return nil, true
	case "unlimited":
		return new(Unlimited), true
	}
	v, err := strconv.ParseUint(text, 10, 64)
	return &v, err == nil
}

// String returns the form that ParseRlimit reads.
func (r Rlimit) String() string { return r.Name + "=" + limitText(r.Soft) + ":" + limitText(r.Hard) }

func limitText(n *uint64) string {
	switch {
	case n == nil:
		return ""
	case *n == Unlimited:
		return "unlimited"
	}
	return strconv.FormatUint(*n, 10)
}

// MaxCPUs is one more than the highest number of a CPU in Limits.CPUs.
const MaxCPUs = 1024

// ParseCPUs returns the numbers of a list such as "0-3,7".
func ParseCPUs(list string) (cpus []int, ok bool) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, lastErr := strconv.ParseUint(last, 10, 16)
		if err != nil || lastErr != nil || from > to || to >= MaxCPUs || len(cpus) > MaxCPUs {
			return nil, false
		}
		for n := from; n <= to; n++ {
			cpus = append(cpus, int(n))
		}
	}
	return cpus, true
}

// check returns what is wrong with the limits, or nil.
func (l Limits) check() *Error {
	if n := len(l.Rlimits); n > maxRlimits {
		return Invalid("limits", fmt.Sprintf("invalid rlimits from %.64q on: %d entries, at most %d are allowed", l.Rlimits[0], n, maxRlimits))
	}
	var seen []string
	for _, text := range l.Rlimits {
		r, ok := ParseRlimit(text)
		if !ok || len(text) > maxRlimitText || slices.Contains(seen, r.Name) {
			e := Invalid("limits", fmt.Sprintf("invalid limit %.64q: use NAME=SOFT:HARD, such as nofile=1024:4096, once for each name", text))
			e.Hint = "the names are " + strings.Join(rlimitNames, ", ")
			return e
		}
		seen = append(seen, r.Name)
	}
	if l.Nice < -20 || l.Nice > 19 {
		return Invalid("limits", fmt.Sprintf("invalid nice value %d: use -20 to 19", l.Nice))
	}
	if n := len(l.CPUs); n > maxCPUsText {
		return Invalid("limits", fmt.Sprintf("invalid list of CPUs %.64q: %d bytes, at most %d are allowed", l.CPUs, n, maxCPUsText))
	}
	if _, ok := ParseCPUs(l.CPUs); !ok && l.CPUs != "" {
		return Invalid("limits", fmt.Sprintf("invalid list of CPUs %.64q: use numbers and ranges, such as 0-3,7", l.CPUs))
	}
	return nil
}
