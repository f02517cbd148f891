package codelia

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrBangEmpty is the status of a bang command without a command.
var ErrBangEmpty = errors.New(textBangEmpty)

// ParseBang takes the command out of what a user has typed: input that begins with !,
// blanks left out. ok is false for any other input, which goes its usual way (R-241,
//
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

// Composer is where a user types: Text, and whether it is a bang command.
type Composer struct {
	Text string
	Bang bool
}

// Typed is the composer behind a character. A ! in an empty one enters the bang mode, and
// is not part of the text.
func (c Composer) Typed(text string) Composer {
	if text == "!" && c.Text == "" && !c.Bang {
		c.Bang = true
		return c
	}
	c.Text += text
	return c
}

// Erased is the composer behind Backspace or Esc: an empty one leaves the bang mode. done
// says that this was all the key does.
func (c Composer) Erased() (after Composer, done bool) {
	if c.Bang && c.Text == "" {
		return Composer{}, true
	}
	return c, false
}

// Input is what is submitted.
func (c Composer) Input() string {
	if c.Bang {
		return "!" + c.Text
	}
	return c.Text
}

// Started is the status of a bang command that begins.
func Started(command string) string { return fmt.Sprintf(sayStarted, logCommand(command)) }

// Done is the status of a bang command that has ended; queued is how many results wait
// for the next message.
func Done(r ExecResult, queued int) string {
	code := "null"
	if r.ExitCode != nil {
		code = strconv.Itoa(*r.ExitCode)
	}
	return fmt.Sprintf(sayDone, code, r.DurationMS, queued)
}

// Unavailable is the status where the server cannot run bang commands.
func Unavailable() string { return sayUnavailable }

// Busy is the status while a bang command runs; detachKey is the key that detaches it, ""
// if none does.
func Busy(detachKey string) string {
	if detachKey == "" {
		return sayBusy
	}
	return fmt.Sprintf(sayBusyDetach, detachKey)
}

// Detached, StillRunning and ExecFailed are the other statuses.
func Detached(taskID string) string     { return fmt.Sprintf(sayDetached, taskID) }
func StillRunning(taskID string) string { return fmt.Sprintf(sayStill, taskID) }
func ExecFailed(err error) string       { return fmt.Sprintf(sayError, err) }

const (
	shownLines = 8
	shownChars = 240
)

// ShownStream is what the console shows of a stream behind its status: a few lines, how
// many more there are, and where all of it is.
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
