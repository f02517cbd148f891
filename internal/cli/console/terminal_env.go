package console

import (
	"cmp"
	"slices"
	"strings"

	"troupe/internal/shelltext"
)

// terminalEnv returns the variables of commands on a terminal, at which the user sits: what keeps
// the programs of an agent from drawing, paging and asking gives way to the user's own values, or
// to the usual ones.
func terminalEnv(env []string) map[string]string {
	user := func(names ...string) string {
		values := make([]string, len(names))
		for i, name := range names {
			values[i] = shelltext.Value(env, name)
		}
		return cmp.Or(values...)
	}
	own := map[string]string{"CI": user("CI")}
	for _, entry := range shelltext.NonInteractive(false) {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case value == "cat":
			own[name] = cmp.Or(user(name, "PAGER"), "less")
		case slices.Contains([]string{"GIT_EDITOR", "VISUAL", "EDITOR"}, name):
			own[name] = cmp.Or(user(name, "VISUAL", "EDITOR"), "vi")
		case name == "GIT_TERMINAL_PROMPT":
			own[name] = cmp.Or(user(name), "1")
		case slices.Contains([]string{"LESS", "NO_COLOR"}, name):
			own[name] = user(name)
		case user(name) != "":
			own[name] = user(name)
		}
	}
	own["TERM"] = "xterm-256color"
	return own
}
