package shelltext

import (
	"slices"
	"strings"
)

// Value returns the value of a variable, "" if it is not set. The last entry of a name
// counts, as everywhere here.
func Value(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// NameOf returns the variable name of an entry.
func NameOf(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return name
}

// WithoutSecrets returns an environment without the names that Secret matches, except
// those in pass.
func WithoutSecrets(caller, pass []string) []string {
	kept := make([]string, 0, len(caller))
	for _, entry := range caller {
		if name := NameOf(entry); !Secret(name) || slices.Contains(pass, name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// AgentEnvironment returns the environment of an agent's commands in the shell sh, an
// absolute path. It is the caller's without secrets, except those in
// pass. Added variables keep programs from prompting, paging and drawing.
func AgentEnvironment(caller []string, sh string, pass []string) []string {
	ci := SetsCI(caller)
	return Overlay(AgentBase(WithoutSecrets(caller, pass), sh, ci), NonInteractive(ci))
}

// Executable returns a function that reports whether a path is an executable file.
func Executable(files Files) func(path string) bool {
	return func(path string) bool {
		info, err := files.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
	}
}
