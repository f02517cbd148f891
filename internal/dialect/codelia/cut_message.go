package codelia

import (
	"fmt"
	"strings"

	"troupe/internal/artifact"
)

// CutMessage cuts a text of a tool message to most bytes, at a line, and adds the reference of
// the full output. ref is "" if it is not cached.
func CutMessage(text, ref string, most int) string {
	if len(text) <= most {
		return text
	}
	kept, _ := artifact.CutAtLine(text, most)
	kept = strings.TrimSuffix(kept, "\n")
	if ref == "" {
		return kept + "\n" + textCutMark
	}
	return kept + fmt.Sprintf(textMessage, ref)
}
