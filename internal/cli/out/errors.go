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

// Finish prints the error of a verb, unless the verb has done so, and returns the exit
// status.
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
	fmt.Fprintln(m.Err, m.Level+"troupe: "+Clean(Sentence(said)))
	return StatusOf(m, said)
}

// Sentence returns the text of an error, to follow "troupe: ". It lowers the first letter of
// directory errors only; in others a capital may begin a name.
func Sentence(e *messages.Error) string {
	text := e.Error()
	switch e.Code {
	case messages.CwdNotFound, messages.CwdNotDir:
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// StatusOf returns 2 for invalid arguments, 1 if the daemon refused the request or is
// missing, and 125 for other errors. A daemon that shuts down also gives 125: 1 could be
// the status of the awaited job.
func StatusOf(m *cli.Main, err *messages.Error) int {
	switch {
	case err.Code == messages.InvalidParams, err.Code == messages.EnvRefused:
		return cli.StatusUsage
	case m.Client && err.Code != messages.Internal && err.Code != messages.ShuttingDown && err.Reason != ConfigReason:
		return cli.StatusMissing
	}
	return cli.StatusOwn
}

// Coded returns the coded error in err. It treats an error without a code as internal, or
// as a failed write.
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

// listing maps the kind of a missing object to the hint that names the verb listing them.
var listing = map[string]string{
	"job": "troupe ps -a lists the jobs", "session": "troupe sessions lists the sessions", "scope": "troupe scopes lists the scopes",
}

// inVerbs replaces the hint of a not-found error by one that names a verb of troupe. The
// supervisor tree does not know the verbs.
func inVerbs(e *messages.Error) *messages.Error {
	verb := listing[e.Reason]
	if e.Code != messages.NotFound || e.Hint == "" || verb == "" {
		return e
	}
	copied := *e
	copied.Hint = verb
	return &copied
}

// Unsupported returns the error of a request that this troupe cannot serve.
func Unsupported(reason, message, hint string) *messages.Error {
	return &messages.Error{Code: messages.Unsupported, Reason: reason, Message: message, Hint: hint}
}

// ConfigReason is the reason of configuration errors, which are found before any request.
const ConfigReason = "config"

// OutputError is a failed write of our own output: the reader is gone (EPIPE), or the disk
// is full.
type OutputError struct{ Err error }

// Error implements error.
func (e *OutputError) Error() string {
	var at *fs.PathError
	if !errors.As(e.Err, &at) {
		return "cannot write the output: " + e.Err.Error()
	}
	name := strings.TrimPrefix(at.Path, "/dev/")
	if errors.Is(at, unix.ENOSPC) {
		return "cannot write " + name + ": no space left on its disk (free some, or redirect it elsewhere)"
	}
	return "cannot write " + name + ": " + at.Err.Error()
}

// Unwrap returns the error of the write.
func (e *OutputError) Unwrap() error { return e.Err }

// Unreadable returns the error of an input that cannot be read, such as a file of a flag.
func Unreadable(reason, what string, err error) *messages.Error {
	e := messages.Invalid(reason, "cannot read "+what+": "+err.Error())
	e.Hint = "give a file that exists and is readable"
	return e
}

// SurvivorError describes a survivor as an error.
func SurvivorError(s messages.Survivor) error {
	if s.PID == 0 { // of a keeper of another version
		return fmt.Errorf("a process could not be stopped: %s", SurvivorText(s))
	}
	return fmt.Errorf("process %d could not be stopped: %s", s.PID, SurvivorText(s))
}

// SurvivorText explains why a process could not be killed.
func SurvivorText(s messages.Survivor) string {
	if s.Why != "" {
		return s.Why
	}
	return strings.TrimSpace("it is in state " + s.State + " " + s.Wchan)
}
