package shelltext

import (
	"fmt"
	"strings"

	"troupe/messages"
)

// PrefixVar names the variable with the prefix for agents' commands; it precedes those
// of other tools.
const (
	PrefixVar       = "TROUPE_SHELL_PREFIX"
	prefixVarPi     = "PI_SHELL_PREFIX"
	prefixVarClaude = "CLAUDE_CODE_SHELL_PREFIX"
)

// MaxPrefix bounds a prefix, a program with options, in bytes.
const MaxPrefix = 4096

// Prefix returns the prefix for agents' commands from the host's environment: the first
// non-empty value of TROUPE_SHELL_PREFIX, PI_SHELL_PREFIX and CLAUDE_CODE_SHELL_PREFIX
// . It does not apply to a person's commands.
func Prefix(host []string) string { return firstOf(host, PrefixVar, prefixVarPi, prefixVarClaude) }

// Prefixed returns the text that runs for a command. Records, displays and interception
// use the command alone.
func Prefixed(prefix, command string) string {
	if prefix == "" {
		return command
	}
	return prefix + " " + command
}

// CheckPrefix returns an error if a prefix is too long, blank, or not one line. setting
// names its source.
func CheckPrefix(prefix, setting string) *messages.Error {
	what := ""
	switch {
	case len(prefix) > MaxPrefix:
		what = fmt.Sprintf("has %d bytes; at most %d are allowed", len(prefix), MaxPrefix)
	case strings.ContainsAny(prefix, "\x00\n\r"):
		what = "is more than one line, or has a NUL byte"
	case prefix != "" && strings.TrimSpace(prefix) == "":
		what = "is blank"
	default:
		return nil
	}
	e := messages.Invalid("prefix", "the prefix of commands "+what)
	e.Hint = "a prefix is put before each command, such as nice -n 5; change " + setting
	return e
}
