// Package minimize takes out of an output what nobody reads: progress, tests that
// passed, hints. It is pure, and it fails towards the raw output: what it is not
// sure of stays as it is. Nothing is lost by it, since the log has every byte.
package minimize

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// DefaultMaxCapture is the longest output that is minimized, in bytes, unless a
// setting says otherwise.
const DefaultMaxCapture = 4 << 20

// maxLines is the most lines that are looked at: so much is no output that a person or a model
// reads, and each line costs.
const maxLines = 100_000

// minChars is the shortest output that is touched, in characters: less than that is read
// faster than it is wondered at.
const minChars = 1000

// Settings are those of shellMinimizer. The zero value minimizes nothing;
// Defaults is what holds without settings.
type Settings struct {
	Enabled         bool
	Only, Except    []string // names of programs; an empty Only is all of them
	MaxCaptureBytes int      // 0 is DefaultMaxCapture; more than 100,000 lines pass through, too
	Filters         Filters  // the user's, from settingsPath: they come before the built-in ones
}

// Defaults are the settings where nobody has said anything.
func Defaults() Settings { return Settings{Enabled: true, MaxCaptureBytes: DefaultMaxCapture} }

// Info says what was done to an output, for whoever counts or keeps it.
type Info struct {
	Label       string // of the filter, or why there was none
	Changed     bool   // the text is not the output; only then there is a raw one to keep
	InputBytes  int
	OutputBytes int
	Fault       string // a filter panicked over this: a defect of ours
}

// The labels of outputs that were rewritten, other than the name of the program, whose own
// filter did it.
const (
	Pipeline        = "pipeline"         // lines were taken out as TOML says
	PipelineBuiltin = "pipeline+builtin" // both
)

// The labels of outputs that were passed through.
const (
	TooLarge    = "too-large"
	TooShort    = "too-short"
	Piped       = "piped"
	Compound    = "compound"
	ParseError  = "parse-error"
	Unknown     = "unknown"       // only the shell can tell which program it is
	Disabled    = "disabled"      // by a setting
	ExitSkip    = "exit-skip"     // the filters are for other exits
	Noop        = "pipeline-noop" // there was nothing to take out
	Unsupported = "unsupported"   // no filter for this program or subcommand, or for this form of output
)

// Minimize gives what is shown of the output of a command that has ended with exit.
// Chains (a && b, a; b) stay as they are: what belongs to which part is not known
// of their output. A failed command never becomes a bare OK.
func Minimize(command, output string, exit int, settings Settings) (string, Info) {
	text, label, fault := attempt(command, output, exit, settings)
	info := Info{Label: label, Changed: text != output, InputBytes: len(output), OutputBytes: len(text), Fault: fault}
	return text, info
}

// attempt is Minimize, and the raw output if anything panics.
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

// allows reports whether the settings leave a program to us.
func (s Settings) allows(program string) bool {
	is := func(name string) bool { return strings.EqualFold(name, program) }
	return !slices.ContainsFunc(s.Except, is) && (len(s.Only) == 0 || slices.ContainsFunc(s.Only, is))
}

// short counts characters only where bytes do not tell already.
func short(output string) bool {
	return len(output) < minChars || len(output) < minChars*utf8.UTFMax && utf8.RuneCountInString(output) < minChars
}
