package shell

import (
	"strings"

	words "troupe/internal/shelltext"
)

// A shell keeps what it exports for its successor, behind each command: that is nearly
// half of what a short one costs a bash. It need not where a command cannot change it.

// beginsPlain reports whether the next shell of the place knows nothing but what every
// bash knows. Called with mu.
func (p *executor) beginsPlain() bool {
	if p.driver.words[0] != "bash" || p.snapshot != "" {
		return false
	}
	for _, kv := range p.environ() { // in POSIX mode it reads the file that ENV names
		for _, from := range []string{"BASH_FUNC_", "BASHOPTS=", "SHELLOPTS=", "PS4=", "POSIXLY_CORRECT="} {
			if strings.HasPrefix(kv, from) {
				return false
			}
		}
	}
	return true
}

// keepsExports reports whether a text surely leaves what the shell exports as it is, and
// notes if nothing can be told of those that come behind it.
func (s *shell) keepsExports(text string) bool {
	s.place.mu.Lock()
	plain := s.plain
	s.place.mu.Unlock()
	if !plain {
		return false
	}
	change := words.StateChanges(text)
	if change == words.Anything {
		s.place.mu.Lock()
		s.plain = false
		s.place.mu.Unlock()
	}
	return change == words.NoChange
}
