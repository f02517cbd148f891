package opencode

import (
	"slices"
	"strings"

	"troupe/shell"
)

// environment is that of commands: the caller's, without what looks like a secret and is
// not let through by name; what tells that an agent runs them; and what keeps programs
// from asking, paging and drawing.
func environment(caller []string, sh string, pass []string) []string {
	kept := make([]string, 0, len(caller))
	for _, entry := range caller {
		name, _, _ := strings.Cut(entry, "=")
		if !shell.Secret(name) || slices.Contains(pass, name) {
			kept = append(kept, entry)
		}
	}
	ci := shell.SaysCI(caller)
	return shell.Overlay(shell.AgentBase(kept, sh, ci), shell.NonInteractive(ci))
}
