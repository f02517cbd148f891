package codelia

import (
	"fmt"
	"slices"
	"strings"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Rules are the policy of codelia: a command starts in a directory or below it, and names no
// denied program. They look at directories and words, and confine nothing; Wrap may.
type Rules struct {
	FS shelltext.Files
	// Root is the directory that commands must start in or below.
	Root string
	// Deny lists names of programs that commands may not name.
	Deny []string
	// Wrap is the argv of a program that confines commands; the shell's argv follows it
	// (none).
	Wrap []string
}

// Allow implements dialect.Policy.
func (r Rules) Allow(i dialect.Intent) (dialect.Permit, error) {
	if name := denied(i.Text, r.Deny); name != "" {
		return dialect.Permit{}, &Error{Code: CodeInternal, Message: fmt.Sprintf(textDenied, name)}
	}
	root, err := shelltext.RealPath(r.FS, r.Root)
	if err != nil {
		return dialect.Permit{}, internal(err)
	}
	if !shelltext.Within(root, i.Dir) {
		return dialect.Permit{}, invalid(textCwd, i.Dir, root)
	}
	return dialect.Permit{Argv: slices.Concat(r.Wrap, i.Argv), Backend: messages.BackendPipe}, nil
}

// denied returns the first denied name of a program in a text, or "". It judges a text that
// does not parse by its words.
func denied(command string, deny []string) string {
	if len(deny) == 0 {
		return ""
	}
	names := strings.Fields(command)
	if script, err := shelltext.Parse(command); err == nil {
		names = names[:0]
		for _, c := range script.Commands {
			names = append(names, c.Name())
		}
	}
	for _, name := range names {
		if slices.Contains(deny, name) || slices.Contains(deny, name[strings.LastIndex(name, "/")+1:]) {
			return name
		}
	}
	return ""
}
