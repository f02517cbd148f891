package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"troupe/messages"
)

// The exit statuses that are troupe's own (docs/cli.md).
const (
	statusUsage = 2   // what was asked for makes no sense: nothing was started
	statusOwn   = 125 // troupe could not do it; as env(1), timeout(1) and docker say it
	signalBase  = 128 // plus the number of a signal
)

// exitStatus ends the program with an exit status when all has been said.
type exitStatus int

// Error implements error.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// finish says what a verb failed with, if it has not done so itself, and is the
// exit status.
func finish(m *Main, err error, asJSON bool) int {
	var done exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &done):
		return int(done)
	}
	said := coded(err)
	if asJSON {
		if werr := writeJSON(m.Out, errorObject{V: messages.JSONVersion, Error: *said}); werr == nil {
			return statusOf(m, said)
		}
	}
	fmt.Fprintln(m.Err, "troupe: "+clean(sentence(said)))
	return statusOf(m, said)
}

// sentence is an error as it goes on behind "troupe: ". Of directories the texts
// begin a sentence of their own; elsewhere a capital may be a name's.
func sentence(e *messages.Error) string {
	text := e.Error()
	switch e.Code {
	case messages.CwdNotFound, messages.CwdNotDir:
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// statusOf is 2 for what was typed wrong and 125 for what cannot be done; 1 for
// what a daemon refused, or that there is none. One that is about to end has refused
// nothing: 1 would look like the end of the job that is waited for.
func statusOf(m *Main, err *messages.Error) int {
	switch {
	case err.Code == messages.InvalidParams, err.Code == messages.EnvRefused:
		return statusUsage
	case m.client && err.Code != messages.Internal && err.Code != messages.ShuttingDown && err.Reason != configReason:
		return statusMissing
	}
	return statusOwn
}

// coded finds the code in an error; one without is a fault of ours, or of where
// we write.
func coded(err error) *messages.Error {
	var e *messages.Error
	var at *fs.PathError
	switch {
	case errors.As(err, &e):
		return inVerbs(e)
	case errors.As(err, &at) && at.Op == "write":
		err = &outputError{err}
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

// errorObject is what --json prints in place of a result.
type errorObject struct {
	V     int            `json:"v"`
	Error messages.Error `json:"error"`
}

// flagError makes a sentence of what is wrong with a flag. A value that knows
// what is wrong with it says so itself.
func flagError(cmd *cobra.Command, err error) error {
	var e *messages.Error
	if errors.As(err, &e) {
		return e
	}
	text := err.Error()
	var number *strconv.NumError
	if errors.As(err, &number) {
		text = strings.TrimSuffix(text, number.Error()) + wantedOf(number)
	}
	e = messages.Invalid("flag", text)
	e.Hint = "see " + cmd.CommandPath() + " --help"
	return e
}

// wantedOf says what a flag takes, where what was typed is none.
func wantedOf(e *strconv.NumError) string {
	switch {
	case errors.Is(e.Err, strconv.ErrRange):
		return "the number is too large"
	case e.Func == "ParseBool":
		return "write true or false, or the flag alone"
	case e.Func == "ParseUint":
		return "write a whole number from 0"
	}
	return "write a whole number"
}

// errorsAsJSON says whether an error is told as an object: as the flag says or, where
// the flags could not be read, as far as they can be guessed.
func errorsAsJSON(m *Main, cmd *cobra.Command, args []string) bool {
	if m.misread {
		return wantsJSON(args, cmd.HasParent() && cmd.Name() != "run")
	}
	flag := cmd.Flags().Lookup("json")
	return flag != nil && flag.Value.String() == "true"
}

// wantsJSON looks for --json among flags that may be wrong themselves: of most verbs they
// stand anywhere, of run and without a verb before the words.
func wantsJSON(args []string, anywhere bool) bool {
	if len(args) > 0 {
		args = args[1:] // the verb
	}
	if end := slices.IndexFunc(args, func(a string) bool { return a == "--" }); end >= 0 {
		args = args[:end]
	}
	last := ""
	for _, a := range args {
		switch {
		case a == "--json" || a == "--json=true":
			return true
		case !anywhere && !strings.HasPrefix(a, "-") && !strings.HasPrefix(last, "-"):
			return false // a word behind a word: the flags are over
		}
		last = a
	}
	return false
}

// unsupported is the error of a request that this troupe cannot serve.
func unsupported(reason, message, hint string) *messages.Error {
	return &messages.Error{Code: messages.Unsupported, Reason: reason, Message: message, Hint: hint}
}

// writeJSON writes one object and a newline. What a terminal could take for a
// command is escaped; the value is the same.
func writeJSON(w io.Writer, v any) error {
	b, err := plainJSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeJSON(b), '\n'))
	return err
}

// plainJSON is json.Marshal for readers that are no browsers: & stays &.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
