package omp

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// Params are the parameters of the tool bash.
type Params struct {
	Command string            `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout *float64          `json:"timeout,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Pty     *bool             `json:"pty,omitempty"`
	Async   bool              `json:"async,omitempty"`
	Head    *int              `json:"head,omitempty"`
	Tail    *int              `json:"tail,omitempty"`
}

// JobParams are the parameters of the tool job.
type JobParams struct {
	List   bool     `json:"list,omitempty"`
	Poll   []string `json:"poll,omitempty"`
	Cancel []string `json:"cancel,omitempty"`
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv is what is wrong with the names of the variables, "" if nothing is.
func checkEnv(env map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(env)) { // always the same one first
		if !envName.MatchString(name) {
			return fmt.Sprintf(textEnvName, name)
		}
	}
	return ""
}

// entries are variables as an environment has them, by name.
func entries(env map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// Bounds of a timeout, in seconds.
const (
	defaultTimeout = 300
	minTimeout     = 1
	maxTimeout     = 3600
)

// Timeout is a deadline as it was asked for and as it holds, in seconds.
type Timeout struct {
	Requested float64
	Effective float64 // 0: none
	Disabled  bool
	highest   float64
	open      bool // 0 would have meant none
}

// timeout takes min and max of what was asked for.
func timeout(asked *float64, s Settings) Timeout {
	t := Timeout{Requested: defaultTimeout, highest: maxTimeout, open: s.ZeroTimeoutDisables}
	if s.MaxTimeout > 0 {
		t.highest = min(max(s.MaxTimeout, minTimeout), maxTimeout)
	}
	if asked != nil {
		t.Requested = *asked
	}
	if t.open && t.Requested == 0 {
		t.Disabled = true
		return t
	}
	t.Effective = min(max(t.Requested, minTimeout), t.highest)
	if asked == nil { // the default is no request
		t.Requested = t.Effective
	}
	return t
}

// Notice says that the value was changed, "" if it was not.
func (t Timeout) Notice() string {
	if t.Requested == t.Effective {
		return ""
	}
	text := textClamped
	if t.open {
		text = textClampedOpen
	}
	return fmt.Sprintf(text, number(t.Requested), number(t.Effective), number(minTimeout), number(t.highest))
}

// Duration is the deadline; 0 is none.
func (t Timeout) Duration() time.Duration { return time.Duration(t.Effective * float64(time.Second)) }

// number writes seconds as they were given: 300, 2.5.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// autoWait is how long a call waits for a command that then goes on in the background
// with 0 it begins there.
func autoWait(t Timeout, threshold time.Duration) time.Duration {
	wait := max(threshold, 0)
	if !t.Disabled {
		wait = min(wait, t.Duration()-time.Second)
	}
	return max(wait, 0)
}

// grace is from TERM to KILL of a command that timed out or was cancelled, and
// hardGrace how much later than its timeout a call returns, whatever becomes of it
//
const (
	grace     = 2 * time.Second
	hardGrace = 5 * time.Second
)

// path is how a command is run.
type path int

const (
	asJob     path = iota // in the background
	asAutoJob             // in the background if it takes long
	onClient              // in the client's terminal
	onPTY
	inShell
)

// callContext decide the path.
type callContext struct {
	async, auto, manager, client bool
	pty                          bool // asked for
	eligible                     bool // and possible
}

func choose(c callContext) path {
	switch {
	case c.async:
		return asJob
	case c.auto && !c.pty && c.manager:
		return asAutoJob
	case c.client && !c.pty:
		return onClient
	case c.pty && c.eligible:
		return onPTY
	}
	return inShell
}

// NoPTYVar names the variable that forbids terminals; the flag --no-pty sets it.
const NoPTYVar = "TROUPE_NO_PTY"

const noPTYVarPi = "PI_NO_PTY"

// ptyAllowed says whether an environment lets commands have a terminal.
func ptyAllowed(env []string) bool {
	return shelltext.Value(env, NoPTYVar) != "1" && shelltext.Value(env, noPTYVarPi) != "1"
}

// PTYSize is the size of a command's terminal on a screen of a size.
func PTYSize(screen messages.Terminal) messages.Terminal {
	if screen == (messages.Terminal{}) {
		return messages.Terminal{Rows: 40, Cols: 120} // what the emulator begins with
	}
	cols, rows := max(20, screen.Cols-2), max(5, screen.Rows-4)
	return messages.Terminal{Rows: min(rows, 200), Cols: min(cols, 400)}
}

// OverlayRows is how many rows of a screen the console takes: at most 80 %, and at
// least 5; 4 of them are around what the command shows.
func OverlayRows(screenRows int) int { return max(5, screenRows*8/10) }
