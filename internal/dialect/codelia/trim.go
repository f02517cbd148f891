package codelia

import (
	"fmt"
	"strings"

	"troupe/internal/artifact"
)

// CutMessage keeps a tool message to 50 KiB: it is cut at a line, with a note of where
// all of it is. ref is "" if it is nowhere.
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

// Trimmed stands for an old tool output that was taken out of a context.
func Trimmed(ref string) string {
	if ref == "" {
		return textTrimmedNo
	}
	return fmt.Sprintf(textTrimmed, ref)
}
