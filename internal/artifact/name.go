package artifact

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// replace returns s with _ for each byte that is not a letter, a digit or in more.
func replace(s, more string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r < 0x80 && strings.ContainsRune(more, r):
			return r
		}
		return '_'
	}, s)
}

// SessionName turns a session's id into one path element: other characters than
// [A-Za-z0-9_.-] become _. A name of dots alone gets a leading _.
func SessionName(id string) string {
	name := replace(id, "_.-")
	name = name[:min(len(name), 128)]
	if strings.Trim(name, ".") == "" {
		return "_" + name
	}
	return name
}

// StreamName returns the file name of a stream. stream is "stdout", "stderr",
// or "" for both in one file.
func StreamName(at time.Time, stream string) string {
	if stream != "" {
		stream = "-" + stream
	}
	return "bash-" + strconv.FormatInt(at.UnixNano(), 10) + stream + ".txt"
}

// LargeName returns a unique file name for a large output.
func LargeName(at time.Time) string {
	return fmt.Sprintf("troupe-tool-output-%d-%s.txt", at.UnixMilli(), strings.ToLower(rand.Text()[:6]))
}

// CacheName returns the file name of a reference.
func CacheName(ref string) string { return replace(ref, "_-") + ".txt" }
