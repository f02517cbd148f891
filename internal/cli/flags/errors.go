package flags

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/messages"
)

// FlagError makes a sentence of what is wrong with a flag. A value that knows
// what is wrong with it says so itself.
func FlagError(cmd *cobra.Command, err error) error {
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

// ErrorsAsJSON says whether an error is told as an object: as the flag says or, where
// the flags could not be read, as far as they can be guessed.
func ErrorsAsJSON(m *cli.Main, cmd *cobra.Command, args []string) bool {
	if m.Misread {
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
