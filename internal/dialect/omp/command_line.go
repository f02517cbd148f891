package omp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CommandLine renders a call for people: a prompt, the change of directory, the
// variables sorted by name, and the command. It is never executed.
func CommandLine(p Params, sessionDir string) string {
	var b strings.Builder
	b.WriteString("$ ")
	if p.Cwd != "" && p.Cwd != sessionDir {
		fmt.Fprintf(&b, "cd %s && ", p.Cwd)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		fmt.Fprintf(&b, "%s=\"%s\" ", name, escaped.Replace(p.Env[name]))
	}
	b.WriteString(p.Command)
	return b.String()
}

var escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, `"`, `\"`, `$`, `\$`, "`", "\\`")
