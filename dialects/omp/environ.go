package omp

import (
	"slices"
	"strings"

	"troupe/shell"
)

// environment is that of commands without what a call names: the
// caller's, without what looks like a secret and is not let through by name;
// what tells that an agent runs them; and what keeps programs from asking, paging and
// drawing.
func environment(caller []string, sh string, s Settings) []string {
	kept := make([]string, 0, len(caller))
	for _, entry := range caller {
		name, _, _ := strings.Cut(entry, "=")
		if !shell.Secret(name) || slices.Contains(s.PassEnv, name) {
			kept = append(kept, entry)
		}
	}
	ci := shell.SaysCI(caller)
	return shell.Overlay(shell.AgentBase(kept, sh, ci), shell.NonInteractive(ci))
}

// prefix is what stands before each command.
func prefix(caller []string, s Settings) string {
	if s.ShellPrefix != "" {
		return s.ShellPrefix
	}
	return shell.Prefix(caller)
}

// lookup is the value of a variable: the last, as everywhere.
func lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
