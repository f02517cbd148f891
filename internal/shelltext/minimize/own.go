package minimize

import (
	"slices"
	"strings"
)

// owns returns the filters of programs and subcommands, written in Go; the subcommand "" stands
// for all others.
func owns() map[string]map[string]own {
	return map[string]map[string]own{
		"git":     {"diff": diff, "show": gitHistory, "log": gitHistory},
		"yadm":    {"diff": diff, "show": gitHistory, "log": gitHistory},
		"gt":      {"diff": diff},
		"go":      {"test": goTest},
		"ls":      {"": longListing},
		"find":    {"": paths},
		"grep":    {"": matches},
		"egrep":   {"": matches},
		"rg":      {"": matches},
		"cat":     {"": repeats},
		"jq":      {"": repeats},
		"strings": {"": repeats},
		"stat":    {"": repeats},
		"od":      {"": bytesAgain},
		"xxd":     {"": bytesAgain},
		"hexdump": {"": bytesAgain},
	}
}

func ownOf(c call) own {
	bySubcommand := owns()[c.program]
	if own, ok := bySubcommand[c.subcommand]; ok {
		return own
	}
	return bySubcommand[""]
}

// has reports whether a call has one of the arguments.
func (c call) has(args ...string) bool {
	return slices.ContainsFunc(c.args, func(arg string) bool { return slices.Contains(args, arg) })
}

// hasLetter reports whether a call has a one-letter flag, alone or combined: -la has l.
func (c call) hasLetter(letter string) bool {
	return slices.ContainsFunc(c.args, func(arg string) bool {
		return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, letter)
	})
}
