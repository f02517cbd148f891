package out

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/messages"
)

// Finish says what a verb failed with, if it has not done so itself, and is the
// exit status.
func Finish(m *cli.Main, err error, asJSON bool) int {
	var done cli.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &done):
		return int(done)
	}
	said := Coded(err)
	if asJSON {
		if werr := WriteJSON(m.Out, ErrorObject{V: messages.JSONVersion, Error: *said}); werr == nil {
			return StatusOf(m, said)
		}
	}
	fmt.Fprintln(m.Err, "troupe: "+Clean(Sentence(said)))
	return StatusOf(m, said)
}

// Sentence is an error as it goes on behind "troupe: ". Of directories the texts
// begin a sentence of their own; elsewhere a capital may be a name's.
func Sentence(e *messages.Error) string {
	text := e.Error()
	switch e.Code {
	case messages.CwdNotFound, messages.CwdNotDir:
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// StatusOf is 2 for what was typed wrong and 125 for what cannot be done; 1 for
// what a daemon refused, or that there is none. One that is about to end has refused
// nothing: 1 would look like the end of the job that is waited for.
func StatusOf(m *cli.Main, err *messages.Error) int {
	switch {
	case err.Code == messages.InvalidParams, err.Code == messages.EnvRefused:
		return cli.StatusUsage
	case m.Client && err.Code != messages.Internal && err.Code != messages.ShuttingDown && err.Reason != ConfigReason:
		return cli.StatusMissing
	}
	return cli.StatusOwn
}

// Coded finds the code in an error; one without is a fault of ours, or of where
// we write.
func Coded(err error) *messages.Error {
	var e *messages.Error
	var at *fs.PathError
	switch {
	case errors.As(err, &e):
		return inVerbs(e)
	case errors.As(err, &at) && at.Op == "write":
		err = &OutputError{Err: err}
	}
	return &messages.Error{Code: messages.Internal, Message: err.Error()}
}

// listing are the verbs that show what there is where something is not.
var listing = map[string]string{
	"job": "troupe ps -a lists the jobs", "session": "troupe sessions lists them", "scope": "troupe scopes lists them",
}

// inVerbs says what to do next in the words of who types, which the tree does not know.
func inVerbs(e *messages.Error) *messages.Error {
	verb := listing[e.Reason]
	if e.Code != messages.NotFound || e.Hint == "" || verb == "" {
		return e
	}
	told := *e
	told.Hint = verb
	return &told
}

// Unsupported is the error of a request that this troupe cannot serve.
func Unsupported(reason, message, hint string) *messages.Error {
	return &messages.Error{Code: messages.Unsupported, Reason: reason, Message: message, Hint: hint}
}

// ConfigReason is that of errors of the file; no daemon is asked where there is one.
const ConfigReason = "config"

// OutputError says that our own output takes no more: its reader has gone away
// (EPIPE), its disk is full.
type OutputError struct{ Err error }

// Error implements error.
func (e *OutputError) Error() string {
	var at *fs.PathError
	if !errors.As(e.Err, &at) {
		return "the output cannot be written: " + e.Err.Error()
	}
	name := strings.TrimPrefix(at.Path, "/dev/")
	if errors.Is(at, unix.ENOSPC) {
		return name + " cannot be written: there is no space left (free some, or send it elsewhere)"
	}
	return name + " cannot be written: " + at.Err.Error()
}

// Unwrap returns the error of the write.
func (e *OutputError) Unwrap() error { return e.Err }

// Unreadable refuses a file that a flag names.
func Unreadable(reason, what string, err error) *messages.Error {
	e := messages.Invalid(reason, what+" cannot be read: "+err.Error())
	e.Hint = "name a file that is there and may be read"
	return e
}

// SurvivorError names one of them.
func SurvivorError(s messages.Survivor) error {
	return fmt.Errorf("process %d could not be ended: %s", s.PID, SurvivorText(s))
}

// SurvivorText is why a process could not be ended.
func SurvivorText(s messages.Survivor) string {
	if s.Why != "" {
		return s.Why
	}
	return strings.TrimSpace("it is in state " + s.State + " " + s.Wchan)
}
