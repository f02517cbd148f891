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
// back after it: an export of the shell would remain for the next call. The values are in set, and
// not in the text, which the record of the job shows. eval keeps the line numbers of messages, and
// reads the command as the shell would.
func withEnv(command string, env map[string]string) (text string, set []string) {
	if len(env) == 0 {
		return command, nil
	}
	var before, after strings.Builder
	for i, name := range slices.Sorted(maps.Keys(env)) {
		set = append(set, fmt.Sprintf("__troupe_v%d=%s", i, env[name]))
		fmt.Fprintf(&before, `__troupe_%[1]d=${%[2]s+x}${%[2]s-}; export %[2]s="$__troupe_v%[1]d"; unset __troupe_v%[1]d; `, i, name) // "": it was not set
		fmt.Fprintf(&after, "case $__troupe_%[1]d in x*) %[2]s=${__troupe_%[1]d#x};; *) unset %[2]s;; esac; unset __troupe_%[1]d; ", i, name)
	}
	return before.String() + "eval " + shelltext.Quote(command) + "\n__troupe_r=$?; " + after.String() + `eval "unset __troupe_r; (exit $__troupe_r)"`, set
}
