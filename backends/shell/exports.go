package shell

import (
	"strings"

	"troupe/internal/shelltext"
)

// A shell saves its exports for its successor after each command. In bash that is nearly
// half the cost of a short command, so it is skipped if a command cannot change them.

// beginsPlain reports whether the next shell starts with nothing beyond bash's own
// state. The caller holds mu.
func (p *executor) beginsPlain() bool {
	if p.driver.argv[0] != "bash" || p.snapshot != "" {
		return false
	}
	for _, kv := range p.environ() { // in POSIX mode bash reads the file in ENV
		for _, from := range []string{"BASH_FUNC_", "BASHOPTS=", "SHELLOPTS=", "PS4=", "POSIXLY_CORRECT="} {
			if strings.HasPrefix(kv, from) {
				return false
			}
		}
	}
	return true
}

// isPlain reports whether the text of a command shows what it changes.
func (s *shell) isPlain() bool {
	s.executor.mu.Lock()
	defer s.executor.mu.Unlock()
	return s.plain
}

// keepsExports reports whether a text of a plain shell certainly leaves the exports
// unchanged. After a text that may define anything, the shell is plain no longer.
func (s *shell) keepsExports(change shelltext.StateChange) bool {
	if change == shelltext.Anything {
		s.executor.mu.Lock()
		s.plain = false
		s.executor.mu.Unlock()
	}
	return change == shelltext.NoChange
}
