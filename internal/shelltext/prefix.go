package shelltext

import (
	"fmt"
	"strings"

	"troupe/messages"
)

// PrefixVar names the prefix for agents' commands; it comes before those of the family.
const (
	PrefixVar       = "TROUPE_SHELL_PREFIX"
	prefixVarPi     = "PI_SHELL_PREFIX"
	prefixVarClaude = "CLAUDE_CODE_SHELL_PREFIX"
)

// MaxPrefix bounds a prefix: it is a program and its options.
const MaxPrefix = 4096

// Prefix is what the host's environment puts before the commands of agents: the first of
// TROUPE_SHELL_PREFIX, PI_SHELL_PREFIX and CLAUDE_CODE_SHELL_PREFIX that is not empty
// . What a person runs is not asked of it.
func Prefix(host []string) string { return firstOf(host, PrefixVar, prefixVarPi, prefixVarClaude) }

// Prefixed is the text that is run for a command. Records, displays and interception have
// the command alone.
func Prefixed(prefix, command string) string {
	if prefix == "" {
		return command
	}
	return prefix + " " + command
}

// CheckPrefix says why a prefix cannot be one: it is part of one line. setting is where it
// stands.
func CheckPrefix(prefix, setting string) *messages.Error {
	what := ""
	switch {
	case len(prefix) > MaxPrefix:
		what = fmt.Sprintf("has %d bytes; at most %d are allowed", len(prefix), MaxPrefix)
	case strings.ContainsAny(prefix, "\x00\n\r"):
		what = "is more than one line, or has a NUL byte"
	case prefix != "" && strings.TrimSpace(prefix) == "":
		what = "is empty space"
	default:
		return nil
	}
	e := messages.Invalid("prefix", "the prefix of commands "+what)
	e.Hint = "it is what stands before each command, as nice -n 5; change " + setting
	return e
}
