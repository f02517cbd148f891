package codelia

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrBangEmpty is the error of a bang command without a command.
var ErrBangEmpty = errors.New(textBangEmpty)

// ParseBang returns the trimmed command of an input that starts with !. ok is false for any
// other input, which the console handles as usual.
func ParseBang(input string) (command string, ok bool, err error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(input), "!")
	if !ok {
		return "", false, nil
	}
	if command = strings.TrimSpace(rest); command == "" {
		return "", true, ErrBangEmpty
	}
	return command, true, nil
}

// Composer is the input line of the console: its text, and whether it is in bang mode
//
type Composer struct {
	Text string
	Bang bool
}

// Typed returns the composer after a character. A ! in an empty composer enters bang mode
// and is not part of the text.
func (c Composer) Typed(text string) Composer {
	if text == "!" && c.Text == "" && !c.Bang {
		c.Bang = true
		return c
	}
	c.Text += text
	return c
}

// Erased returns the composer after Backspace or Esc. An empty composer leaves bang mode;
// done reports that the key did nothing else.
func (c Composer) Erased() (after Composer, done bool) {
	if c.Bang && c.Text == "" {
		return Composer{}, true
	}
	return c, false
}

// Input returns the text to submit.
func (c Composer) Input() string {
	if c.Bang {
		return "!" + c.Text
	}
	return c.Text
}

// Started returns the status of a bang command that starts.
func Started(command string) string { return fmt.Sprintf(sayStarted, logCommand(command)) }

// Done returns the status of a bang command that has ended. queued is the number of results
// that wait for the next message.
func Done(r ExecResult, queued int) string {
	code := "null"
	if r.ExitCode != nil {
		code = strconv.Itoa(*r.ExitCode)
	}
	return fmt.Sprintf(sayDone, code, r.DurationMS, queued)
}

// Busy returns the status while a bang command runs. detachKey detaches it; "": no key
// does.
func Busy(detachKey string) string {
	if detachKey == "" {
		return sayBusy
	}
	return fmt.Sprintf(sayBusyDetach, detachKey)
}

// Detached returns the status after a detach, ExecFailed that of a failed shell.exec.
func Detached(taskID string) string { return fmt.Sprintf(sayDetached, taskID) }
func ExecFailed(err error) string   { return fmt.Sprintf(sayError, err) }

const (
	shownLines = 8
	shownChars = 240
)

// ShownStream returns what the console shows of a stream below its status: a few lines, the
// number of further ones, and the reference of the full output.
func ShownStream(text string, truncated bool, ref string) []string {
	if text == "" {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	more := max(0, len(all)-shownLines)
	lines := make([]string, 0, shownLines+1)
	for _, l := range all[:len(all)-more] {
		lines = append(lines, cutChars(l, shownChars, "..."))
	}
	switch named := truncated && ref != ""; {
	case more > 0 && named:
		return append(lines, fmt.Sprintf(sayMoreRef, more, ref))
	case more > 0:
		return append(lines, fmt.Sprintf(sayMoreLines, more))
	case named:
		return append(lines, fmt.Sprintf(sayRef, ref))
	}
	return lines
}
