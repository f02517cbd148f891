package shelltext

import (
	"slices"
	"strings"
)

// Value is the value of a variable, "" if it is not there: the last, as everywhere here.
func Value(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// NameOf is the name of a variable's entry.
func NameOf(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return name
}

// WithoutSecrets is an environment without what looks like a secret and is not let
// through by name.
func WithoutSecrets(caller, pass []string) []string {
	kept := make([]string, 0, len(caller))
	for _, entry := range caller {
		if name := NameOf(entry); !Secret(name) || slices.Contains(pass, name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// AgentEnvironment is that of an agent's commands in the shell sh, an absolute path
// the caller's without secrets, but for those that pass names; what tells
// that an agent runs them; and what keeps programs from asking, paging and drawing.
func AgentEnvironment(caller []string, sh string, pass []string) []string {
	ci := SetsCI(caller)
	return Overlay(AgentBase(WithoutSecrets(caller, pass), sh, ci), NonInteractive(ci))
}

// Executable says of a path whether it is a program that somebody may run.
func Executable(files Files) func(path string) bool {
	return func(path string) bool {
		info, err := files.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
	}
}
