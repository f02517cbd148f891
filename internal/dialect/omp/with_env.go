package omp

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"troupe/internal/shelltext"
)

// envInShell reports whether a shell understands the text of withEnv.
func envInShell(shell string) bool {
	return slices.Contains([]string{"bash", "zsh", "sh", "dash"}, filepath.Base(shell))
}

// withEnv returns a text that gives a command variables in a shell that stays, and takes them
// back after it: an export of the shell would remain for the next call. eval keeps the line
// numbers of messages, and reads the command as the shell would.
func withEnv(command string, env map[string]string) string {
	if len(env) == 0 {
		return command
	}
	var before, after strings.Builder
	for i, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&before, "__troupe_%d=${%s+x}${%s-}; export %s=%s; ", i, name, name, name, shelltext.Quote(env[name])) // "": it was not set
		fmt.Fprintf(&after, "case $__troupe_%d in x*) %s=${__troupe_%d#x};; *) unset %s;; esac; unset __troupe_%d; ", i, name, i, name, i)
	}
	return before.String() + "eval " + shelltext.Quote(command) + "\n__troupe_r=$?; " + after.String() + `eval "unset __troupe_r; (exit $__troupe_r)"`
}
