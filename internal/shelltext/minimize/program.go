package minimize

import (
	"path"
	"slices"
	"strings"

	"troupe/internal/shelltext"
)

// call is the program that a command runs.
type call struct {
	program    string // base name in lower case
	subcommand string // lower case; "": none, or known only to the shell
	args       []string
	inner      *call // call that the program itself makes, as npx jest does
}

// launcher describes how to find the program that another one starts. flags stand
// alone, valued take a value. Any other flag makes the program unknown.
type launcher struct {
	flags, valued []string
	assigns       bool // NAME=value may precede the program
}

// launchers maps the programs that only start another one.
func launchers() map[string]launcher {
	return map[string]launcher{
		"env":     {flags: []string{"-i", "-", "--ignore-environment", "-v", "--debug"}, valued: []string{"-u", "--unset", "-C", "--chdir"}, assigns: true},
		"sudo":    {flags: []string{"-E", "-H", "-n", "-S", "-k", "-K", "-b", "-A", "-P", "--preserve-env", "--non-interactive", "--set-home"}, valued: []string{"-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "--close-from", "-T", "--command-timeout", "-D", "--chdir"}, assigns: true},
		"command": {flags: []string{"-p"}},
		"builtin": {},
		"noglob":  {},
		"exec":    {flags: []string{"-c", "-l"}, valued: []string{"-a"}},
		"time":    {flags: []string{"-p", "--portability", "-v", "--verbose", "-a", "--append", "-q", "--quiet"}, valued: []string{"-f", "--format", "-o", "--output"}},
	}
}

// identify returns the program of a command, and its subcommand after global flags.
func identify(words []shelltext.Word) (call, bool) {
	known := launchers()
	for len(words) > 0 {
		if !words[0].Literal {
			return call{}, false
		}
		name := strings.ToLower(path.Base(words[0].Text))
		how, isLauncher := known[name]
		if !isLauncher {
			return newCall(name, words[1:], maxRunners), name != "." && name != "/"
		}
		rest, ok := how.program(words[1:])
		if !ok {
			return call{}, false
		}
		words = rest
	}
	return call{}, false
}

// program returns the words after the launcher's own arguments.
func (l launcher) program(words []shelltext.Word) ([]shelltext.Word, bool) {
	for len(words) > 0 {
		word := words[0].Text
		name, _, joined := strings.Cut(word, "=")
		switch {
		case word == "--":
			words, word = words[1:], ""
			if !l.assigns {
				return words, true
			}
		case slices.Contains(l.flags, word):
			words = words[1:]
		case slices.Contains(l.valued, word):
			words = words[min(2, len(words)):]
		case strings.HasPrefix(word, "--") && joined && slices.Contains(slices.Concat(l.valued, l.flags), name):
			words = words[1:]
		case strings.HasPrefix(word, "-") && len(word) > 2 && slices.Contains(l.valued, word[:2]):
			words = words[1:]
		case strings.HasPrefix(word, "-"):
			return nil, false
		case l.assigns && joined && shellName(name):
			words = words[1:]
		default:
			return words, true
		}
	}
	return nil, false
}

// shellName reports whether s is a valid variable name.
func shellName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// maxRunners bounds runners within runners, such as npx in uv run.
const maxRunners = 4

func newCall(program string, words []shelltext.Word, runnersLeft int) call {
	c := call{program: program}
	for _, word := range words {
		c.args = append(c.args, word.Text)
	}
	at := subcommandAt(program, c.args)
	if at < 0 || !words[at].Literal {
		return c
	}
	c.subcommand = strings.ToLower(c.args[at])
	if runnersLeft > 0 {
		if inner, ok := started(c, words, at, runnersLeft-1); ok {
			c.inner = &inner
		}
	}
	return c
}

// runners maps programs that start others to the subcommands that do; "" stands for all.
func runners() map[string][]string {
	return map[string][]string{
		"npx": {""}, "bunx": {""}, "uvx": {""}, "pnpm": {"exec", "dlx"}, "yarn": {""}, "bun": {"x"}, "npm": {"exec", "x"},
		"uv": {"run"}, "poetry": {"run"}, "bundle": {"exec"}, "python": {""}, "python3": {""}, "rails": {"exec"},
	}
}

// started returns the call within a call of a runner.
func started(c call, words []shelltext.Word, at, runnersLeft int) (call, bool) {
	with, ok := runners()[c.program]
	if !ok {
		return call{}, false
	}
	if with[0] != "" {
		if !slices.Contains(with, c.subcommand) {
			return call{}, false
		}
		for at++; at < len(words) && strings.HasPrefix(words[at].Text, "-"); at++ { // its own flags
		}
	}
	if at >= len(words) || !words[at].Literal || strings.HasPrefix(c.program, "python") && (at == 0 || words[at-1].Text != "-m") {
		return call{}, false
	}
	name := strings.ToLower(path.Base(words[at].Text))
	if version := strings.LastIndexByte(name, '@'); version > 0 { // jest@29
		name = name[:version]
	}
	if runners()[name] != nil && name == c.program { // a runner within itself
		return call{}, false
	}
	return newCall(name, words[at+1:], runnersLeft), true
}
