package flags

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/internal/cli"
	"troupe/messages"
)

// FlagError makes a sentence of the error of a flag. It returns errors with a code, which
// values of this package produce, unchanged.
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
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if near := nearFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			e.Hint = "did you mean --" + near + "? " + e.Hint
		}
	}
	return e
}

// wantedOf describes the values of a flag that could not be parsed.
func wantedOf(e *strconv.NumError) string {
	switch {
	case errors.Is(e.Err, strconv.ErrRange):
		return "the number is too large"
	case e.Func == "ParseBool":
		return "use true or false, or the flag alone"
	case e.Func == "ParseUint":
		return "use a whole number from 0"
	}
	return "use a whole number"
}

// ErrorsAsJSON reports whether to print an error as JSON. If the flags were not parsed, it
// searches the arguments for --json.
func ErrorsAsJSON(m *cli.Main, cmd *cobra.Command, args []string) bool {
	if m.Misread {
		return wantsJSON(args, cmd.HasParent() && cmd.Name() != "run")
	}
	flag := cmd.Flags().Lookup("json")
	return flag != nil && flag.Value.String() == "true"
}

// wantsJSON searches arguments with invalid flags for --json. Most verbs take flags
// anywhere; run, and troupe without a verb, only before the first argument.
func wantsJSON(args []string, anywhere bool) bool {
	if len(args) > 0 {
		args = args[1:] // skip the verb
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
			return false // neither a flag nor the value of one: the flags have ended
		}
		last = a
	}
	return false
}
