package copilot

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"troupe/messages"
)

// MostWait is the longest wait of a call.
const MostWait = 600 * time.Second

// Limits of waits.
const (
	defaultWait = 10 * time.Second // a synchronous command
	mostWait    = 600 * time.Second
	leastRead   = 100 * time.Millisecond
	leastWrite  = 10 * time.Second
)

// The modes of a command.
const (
	ModeSync  = "sync"
	ModeAsync = "async"
)

// ShellID names a shell. JSON may give it as a number.
type ShellID string

// UnmarshalJSON accepts a string or a whole number.
func (s *ShellID) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*s = ShellID(text)
		return nil
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return fmt.Errorf("shellId is %s; it must be a string", data)
	}
	*s = ShellID(strconv.FormatInt(n, 10))
	return nil
}

// maxShellID bounds an id in bytes; it is part of texts, tables and file names.
const maxShellID = 128

// ExecuteParams holds the parameters of the tool that runs a command. Command is required.
type ExecuteParams struct {
	Command     *string  `json:"command"`
	Description string   `json:"description"`
	ShellID     ShellID  `json:"shellId"`
	Mode        string   `json:"mode"`
	Detach      bool     `json:"detach"`
	InitialWait *float64 `json:"initial_wait"`
}

// ReadParams holds the parameters of the tool that reads output.
type ReadParams struct {
	ShellID ShellID  `json:"shellId"`
	Delay   *float64 `json:"delay"`
}

// WriteParams holds the parameters of the tool that writes input.
type WriteParams struct {
	ShellID ShellID  `json:"shellId"`
	Input   string   `json:"input"`
	Delay   *float64 `json:"delay"`
}

// StopParams holds the parameters of the tool that stops a shell.
type StopParams struct {
	ShellID ShellID `json:"shellId"`
}

// Check returns the first error in the parameters, in the order of the schema.
func (p ExecuteParams) Check() *messages.Error {
	switch {
	case p.Command == nil:
		return messages.Invalid("command", fmt.Sprintf(textMissing, "command"))
	case strings.TrimSpace(*p.Command) == "":
		return messages.Invalid("empty_command", textEmptyCommand)
	case p.Mode != "" && p.Mode != ModeSync && p.Mode != ModeAsync:
		return messages.Invalid("mode", fmt.Sprintf(textBadMode, p.Mode))
	case p.InitialWait != nil && !(*p.InitialWait > 0):
		return messages.Invalid("initial_wait", fmt.Sprintf(textBadWait, number(*p.InitialWait)))
	}
	return p.ShellID.check()
}

func (s ShellID) check() *messages.Error {
	if len(s) > maxShellID || strings.ContainsFunc(string(s), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return messages.Invalid("shellId", fmt.Sprintf(textBadShellID, maxShellID))
	}
	return nil
}

// Async reports whether the command starts in the background, Detached whether it is
// detached, which requires async.
func (p ExecuteParams) Async() bool    { return p.Mode == ModeAsync }
func (p ExecuteParams) Detached() bool { return p.Async() && p.Detach }

// Wait returns how long the call waits: for the end of the command, or for the start of an
// async one. 0 is without limit. usual is the minimum.
func (p ExecuteParams) Wait(usual time.Duration) time.Duration {
	wait := usual
	if p.InitialWait != nil {
		wait = max(usual, seconds(min(*p.InitialWait, mostWait.Seconds())))
	}
	if p.Async() && wait <= usual {
		return 0
	}
	return wait
}

// wait returns the delay of a read.
func (p ReadParams) wait() (time.Duration, *messages.Error) {
	d, err := delay(p.Delay)
	return max(d, leastRead), err
}

// wait returns the delay of a write, or what is wrong with the parameters.
func (p WriteParams) wait() (time.Duration, *messages.Error) {
	if p.Input == "" {
		return 0, messages.Invalid("input", textEmptyInput)
	}
	if p.Delay != nil && *p.Delay < leastWrite.Seconds() {
		return leastWrite, nil
	}
	return delay(p.Delay)
}

func delay(given *float64) (time.Duration, *messages.Error) {
	switch {
	case given == nil:
		return 0, messages.Invalid("delay", fmt.Sprintf(textMissing, "delay"))
	case !(*given >= 0 && *given <= mostWait.Seconds()):
		return 0, messages.Invalid("delay", fmt.Sprintf(textBadDelay, number(*given)))
	}
	return seconds(*given), nil
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
