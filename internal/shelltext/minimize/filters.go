package minimize

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// maxFilterBytes bounds a file of filters, which is written by hand.
const maxFilterBytes = 64 << 10

// maxReplacement bounds a replacement, in bytes.
const maxReplacement = 1000

// filter is one table of a file of filters: [filters.NAME].
type filter struct {
	name string

	Command    string    `toml:"match_command"`        // whole name of the program
	Subcommand string    `toml:"match_subcommand"`     // whole subcommand; "": any
	Strip      []string  `toml:"strip_lines_matching"` // anywhere in the line
	Replace    []replace `toml:"replace"`              // in each line, one after the other
	MaxLines   int       `toml:"max_lines"`            // 0: all; the first and the last lines are kept
	OnEmpty    string    `toml:"on_empty"`             // text for a success without any line left
	OnlyOnExit any       `toml:"only_on_exit"`         // an exit status or several

	exits []int64
}

type replace struct {
	Pattern     string `toml:"pattern"`
	Replacement string `toml:"replacement"`
}

// Filters holds pipelines defined in TOML, sorted by name, those with a subcommand
// first. The first that matches applies. ParseFilters creates it.
type Filters struct{ all []filter }

// FilterError explains why a file of filters cannot be used.
type FilterError struct {
	Line, Column int // from 1; 0: unknown
	Reason       string
}

func (e *FilterError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Reason)
}

// ParseFilters parses a user's file of filters strictly. An unknown key is an error
// with its line; an invalid regular expression (RE2) is one with the name of its
// filter. The error is a *FilterError; it rejects the whole file.
func ParseFilters(text string) (Filters, error) {
	if len(text) > maxFilterBytes {
		return Filters{}, &FilterError{Reason: fmt.Sprintf(textTooLong, maxFilterBytes)}
	}
	var file struct {
		Filters map[string]filter `toml:"filters"`
	}
	if err := toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(&file); err != nil {
		return Filters{}, placed(err)
	}
	var filters Filters
	for _, name := range slices.Sorted(maps.Keys(file.Filters)) {
		f := file.Filters[name]
		f.name = name
		if err := f.check(); err != nil {
			return Filters{}, err
		}
		filters.all = append(filters.all, f)
	}
	slices.SortStableFunc(filters.all, func(a, b filter) int {
		return cmp.Compare(general(a), general(b))
	})
	return filters, nil
}

// general returns 1 for a filter of all subcommands, which sorts after those for some.
func general(f filter) int {
	if f.Subcommand == "" {
		return 1
	}
	return 0
}

func placed(err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		first := &unknown.Errors[0]
		line, column := first.Position()
		return &FilterError{line, column, fmt.Sprintf(textUnknownKey, strings.Join(first.Key(), "."))}
	}
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := decode.Position()
		return &FilterError{line, column, strings.TrimPrefix(decode.Error(), "toml: ")}
	}
	return &FilterError{Reason: strings.TrimPrefix(err.Error(), "toml: ")}
}

// check validates a filter and completes it.
func (f *filter) check() error {
	switch {
	case f.Command == "":
		return &FilterError{Reason: fmt.Sprintf(textNoCommand, f.name)}
	case f.MaxLines < 0:
		return &FilterError{Reason: fmt.Sprintf(textBadMaxLines, f.name)}
	}
	patterns := append([]string{f.Command, f.Subcommand}, f.Strip...)
	for _, r := range f.Replace {
		patterns = append(patterns, r.Pattern)
		if len(r.Replacement) > maxReplacement {
			return &FilterError{Reason: fmt.Sprintf(textBadReplacement, f.name, maxReplacement)}
		}
	}
	for _, pattern := range patterns {
		if _, err := regexp.Compile(pattern); err != nil {
			return &FilterError{Reason: fmt.Sprintf(textBadPattern, f.name, pattern, err)}
		}
	}
	for _, pattern := range []string{f.Command, f.Subcommand} { // in the form they are used
		if _, err := regexp.Compile(all(pattern)); err != nil {
			return &FilterError{Reason: fmt.Sprintf(textBadPattern, f.name, pattern, err)}
		}
	}
	if _, err := regexp.Compile(anyOf(f.Strip)); err != nil {
		return &FilterError{Reason: fmt.Sprintf(textBadPattern, f.name, "strip_lines_matching", err)}
	}
	return f.readExits()
}

// readExits sets exits from only_on_exit.
func (f *filter) readExits() error {
	switch exits := f.OnlyOnExit.(type) {
	case nil:
	case int64:
		f.exits = []int64{exits}
	case []any:
		for _, exit := range exits {
			status, ok := exit.(int64)
			if !ok {
				return &FilterError{Reason: fmt.Sprintf(textBadExit, f.name)}
			}
			f.exits = append(f.exits, status)
		}
	default:
		return &FilterError{Reason: fmt.Sprintf(textBadExit, f.name)}
	}
	return nil
}

// match returns the first pipeline for a call and its exit. skipped means that
// pipelines exist for the call, but not for the exit.
func (f Filters) match(c call, exit int) (found *pipeline, skipped bool) {
	for _, filter := range f.all {
		if !whole(filter.Command, c.program) || filter.Subcommand != "" && !whole(filter.Subcommand, c.subcommand) {
			continue
		}
		if filter.OnlyOnExit != nil && !slices.Contains(filter.exits, int64(exit)) {
			skipped = true
			continue
		}
		return filter.compile(), false
	}
	return nil, skipped
}

// whole reports whether pattern matches all of text.
func whole(pattern, text string) bool {
	return regexp.MustCompile(all(pattern)).MatchString(text)
}

func all(pattern string) string { return `^(?:` + pattern + `)$` }

// embedded holds the built-in filters, one file for each family of programs. A file is
// parsed only after a command of its family.
//
//go:embed filters/*.toml
var embedded embed.FS

// builtin returns the built-in filters for a program, none for most.
func builtin(program string) Filters {
	if same, ok := sameFlags()[program]; ok {
		program = same
	}
	family, ok := families()[program]
	if !ok {
		if !testBinary(program) {
			return Filters{}
		}
		family = "cpp"
	}
	text, err := embedded.ReadFile("filters/" + family + ".toml")
	if err != nil {
		panic(err)
	}
	filters, err := ParseFilters(string(text))
	if err != nil {
		panic(err)
	}
	return filters
}

// testBinary reports whether program has a usual name of a googletest binary.
func testBinary(program string) bool {
	for _, end := range []string{"_test", "_tests", "_unittest", "_unittests", "-test", "-tests"} {
		if strings.HasSuffix(program, end) {
			return true
		}
	}
	return false
}

// families maps programs to the file with their filters.
func families() map[string]string {
	return map[string]string{
		"git": "git", "gt": "git", "gh": "git",
		"npm": "js", "npx": "js", "pnpm": "js", "yarn": "js", "bun": "js", "tsc": "js", "eslint": "js", "biome": "js", "jest": "js", "vitest": "js", "playwright": "js",
		"cargo": "rust", "rustfmt": "rust",
		"go": "go", "golangci-lint": "go",
		"cmake": "cpp", "ctest": "cpp", "ninja": "cpp", "gtest": "cpp", "gtest-parallel": "cpp",
		"dotnet": "jvm", "mvn": "jvm", "gradle": "jvm",
		"docker": "cloud", "docker-compose": "cloud", "kubectl": "cloud", "helm": "cloud", "aws": "cloud",
		"pytest": "python", "ruff": "python", "mypy": "python", "python": "python", "pip": "python", "uv": "python", "poetry": "python",
		"rspec": "ruby", "rake": "ruby", "rails": "ruby", "rubocop": "ruby", "bundle": "ruby",
		"brew": "system", "composer": "system", "curl": "system", "wget": "system", "psql": "system",
		"tree": "system", "wc": "system", "du": "system", "df": "system",
	}
}
