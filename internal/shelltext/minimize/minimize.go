package minimize

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// DefaultMaxCapture bounds an output that is minimised, in bytes, unless a setting
// does.
const DefaultMaxCapture = 4 << 20

// maxLines bounds an output that is minimised. Longer outputs are not read, and each
// line has a cost.
const maxLines = 100_000

// minChars is the length below which an output is not minimised, in characters.
const minChars = 1000

// Settings are the settings of shellMinimizer. The zero value minimises
// nothing; see Defaults.
type Settings struct {
	Enabled         bool
	Only, Except    []string // program names; empty Only: all
	MaxCaptureBytes int      // 0: DefaultMaxCapture; maxLines also applies
	Filters         Filters  // the user's, from settingsPath; they precede the built-in ones
}

// Defaults returns the settings that apply by default.
func Defaults() Settings { return Settings{Enabled: true, MaxCaptureBytes: DefaultMaxCapture} }

// Info describes what was done to an output.
type Info struct {
	Label       string // of the filter, or why none applied
	Changed     bool   // the text differs from the output: keep the raw one
	InputBytes  int
	OutputBytes int
	Fault       string // panic of a filter: a defect in troupe
}

// Labels of rewritten outputs. An own filter's label is the name of the program.
const (
	Pipeline        = "pipeline"         // filters from TOML
	PipelineBuiltin = "pipeline+builtin" // both
)

// Labels of unchanged outputs.
const (
	TooLarge    = "too-large"
	TooShort    = "too-short"
	Piped       = "piped"
	Compound    = "compound"
	ParseError  = "parse-error"
	Unknown     = "unknown"       // program known only to the shell
	Disabled    = "disabled"      // by a setting
	ExitSkip    = "exit-skip"     // filters are for other exits
	Noop        = "pipeline-noop" // nothing to remove
	Unsupported = "unsupported"   // no filter for this program, subcommand or form of output
)

// Minimize returns the text to show for the output of a command that ended with exit.
// Outputs of chains (a && b, a; b) stay unchanged, since their parts cannot be separated.
// A failed command never becomes a bare OK.
func Minimize(command, output string, exit int, settings Settings) (string, Info) {
	text, label, fault := attempt(command, output, exit, settings)
	info := Info{Label: label, Changed: text != output, InputBytes: len(output), OutputBytes: len(text), Fault: fault}
	return text, info
}

// attempt does the same as Minimize, and returns the raw output after a panic.
func attempt(command, output string, exit int, settings Settings) (text, label, fault string) {
	defer func() {
		if r := recover(); r != nil {
			text, label, fault = output, Unsupported, fmt.Sprint(r)
		}
	}()
	text, label = decide(command, output, exit, settings)
	return text, label, ""
}

func decide(command, output string, exit int, settings Settings) (string, string) {
	limit := settings.MaxCaptureBytes
	if limit <= 0 {
		limit = DefaultMaxCapture
	}
	switch {
	case !settings.Enabled:
		return output, Disabled
	case len(output) > limit || strings.Count(output, "\n") > maxLines:
		return output, TooLarge
	}
	words, label := simple(command)
	if label != "" {
		return output, label
	}
	call, ok := identify(words)
	switch {
	case !ok:
		return output, Unknown
	case !settings.allows(call.program):
		return output, Disabled
	}
	found := choose(call, exit, settings.Filters)
	switch {
	case found.skipped:
		return output, ExitSkip
	case found.own == nil && found.pipeline == nil:
		return output, Unsupported
	case short(output):
		return output, TooShort
	}
	return found.apply(call, output, exit)
}

// allows reports whether the settings include a program.
func (s Settings) allows(program string) bool {
	is := func(name string) bool { return strings.EqualFold(name, program) }
	return !slices.ContainsFunc(s.Except, is) && (len(s.Only) == 0 || slices.ContainsFunc(s.Only, is))
}

// short reports whether output is below minChars. It counts characters only if bytes do
// not decide.
func short(output string) bool {
	return len(output) < minChars || len(output) < minChars*utf8.UTFMax && utf8.RuneCountInString(output) < minChars
}
