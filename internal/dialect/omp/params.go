package omp

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// Params holds the parameters of the tool bash.
type Params struct {
	Command string            `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout *float64          `json:"timeout,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Pty     *bool             `json:"pty,omitempty"`
	Async   bool              `json:"async,omitempty"`
	Head    *int              `json:"head,omitempty"`
	Tail    *int              `json:"tail,omitempty"`
	// Name makes the command a service: it runs in the background under this name, and the
	// call waits until it is ready.
	Name  string `json:"name,omitempty"`
	Ready *Ready `json:"ready,omitempty"`
}

// JobParams holds the parameters of the tool job.
type JobParams struct {
	List   bool     `json:"list,omitempty"`
	Poll   []string `json:"poll,omitempty"`
	Cancel []string `json:"cancel,omitempty"`
}

var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// checkEnv returns the error about an invalid variable name, or "".
func checkEnv(env map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(env)) { // the same invalid name first in every run
		if !envName().MatchString(name) {
			return fmt.Sprintf(textEnvName, name)
		}
	}
	return ""
}

// entries returns variables in the form NAME=VALUE, sorted by name.
func entries(env map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// Limits of a timeout, in seconds.
const (
	defaultTimeout = 300
	minTimeout     = 1
	maxTimeout     = 3600
)

// Timeout is a requested and an effective timeout, in seconds.
type Timeout struct {
	Requested float64
	Effective float64 // 0: none
	Disabled  bool
	highest   float64
	open      bool // 0 means none
}

// timeout clamps a requested timeout to the limits.
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
	if asked == nil { // the default is not a request
		t.Requested = t.Effective
	}
	return t
}

// Notice renders a change of the requested value, "" if there was none.
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

// Duration returns the timeout; 0: none.
func (t Timeout) Duration() time.Duration { return time.Duration(t.Effective * float64(time.Second)) }

// number formats seconds as they were given: 300, 2.5.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// autoWait returns how long a call waits before its command goes to the background.
// With 0 the command starts there.
func autoWait(t Timeout, threshold time.Duration) time.Duration {
	wait := max(threshold, 0)
	if !t.Disabled {
		wait = min(wait, t.Duration()-time.Second)
	}
	return max(wait, 0)
}

// grace is the time from TERM to KILL after a timeout or a cancellation. hardGrace
// bounds how much later than its timeout a call returns, even if the command still runs
//
const (
	grace     = 2 * time.Second
	hardGrace = 5 * time.Second
)

// path is a way to run a command.
type path int

const (
	asJob     path = iota // in the background
	asAutoJob             // in the background after a while
	onClient              // in the client's terminal
	onPTY
	inShell
)

// callContext holds what decides the path.
type callContext struct {
	async, auto, manager, client bool
	pty                          bool // requested
	eligible                     bool // possible
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

// NoPTYVar names the variable that forbids terminals. The flag --no-pty sets it.
const NoPTYVar = "TROUPE_NO_PTY"

const noPTYVarPi = "PI_NO_PTY"

// PTYAllowed reports whether an environment allows terminals for commands.
func PTYAllowed(env []string) bool {
	return shelltext.Value(env, NoPTYVar) != "1" && shelltext.Value(env, noPTYVarPi) != "1"
}

// PTYSize returns the size of a command's terminal for a size of the screen.
func PTYSize(screen messages.Terminal) messages.Terminal {
	if screen == (messages.Terminal{}) {
		return messages.Terminal{Rows: 40, Cols: 120} // initial size of the emulator
	}
	cols, rows := max(20, screen.Cols-2), max(5, screen.Rows-4)
	return messages.Terminal{Rows: min(rows, 200), Cols: min(cols, 400)}
}

// OverlayRows returns how many rows of a screen the console takes: at most 80 %, at least
// 5. Four of them surround the command's terminal.
func OverlayRows(screenRows int) int { return max(5, screenRows*8/10) }
