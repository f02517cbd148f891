package dialecttest

import (
	"encoding/json"
	"strings"
)

// ShellResults returns the <shell_result> blocks at the start of a message, and the text after
// them, as a host reads them. Malformed blocks are text.
func ShellResults[R any](message string) (results []R, text string) {
	text = message
	for {
		rest, ok := strings.CutPrefix(text, "<shell_result>\n")
		if !ok {
			break
		}
		line, after, ok := strings.Cut(rest, "\n</shell_result>")
		var r R
		if !ok || json.Unmarshal([]byte(line), &r) != nil {
			return results, text
		}
		results = append(results, r)
		if text, ok = strings.CutPrefix(after, "\n\n"); ok || after == "" {
			return results, text
		}
		text = strings.TrimPrefix(after, "\n")
	}
	return results, text
}
