package codelia

import (
	"fmt"
	"strings"

	"troupe/internal/artifact"
)

// CutMessage cuts a tool message to 50 KiB, at a line, and adds the reference of the full
// output. ref is "" if it is not cached.
func CutMessage(text, ref string) string {
	if len(text) <= artifact.NoteBytes {
		return text
	}
	kept, _ := artifact.CutAtLine(text, artifact.NoteBytes)
	kept = strings.TrimSuffix(kept, "\n")
	if ref == "" {
		return kept + "\n" + textCutMark
	}
	return kept + fmt.Sprintf(textMessage, ref)
}

// Trimmed returns the text that replaces an old tool output removed from a context.
func Trimmed(ref string) string {
	if ref == "" {
		return textTrimmedNo
	}
	return fmt.Sprintf(textTrimmed, ref)
}
