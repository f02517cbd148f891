package shelltext

import "strings"

// FindsProcesses reports whether a text may look for processes by their arguments. pkill -f
// and pgrep -f leave out themselves, but not a shell or a troupe whose argument is the text.
func FindsProcesses(text string) bool {
	return strings.Contains(text, "pkill") || strings.Contains(text, "pgrep")
}
