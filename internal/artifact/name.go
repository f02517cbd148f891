package artifact

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// replace puts a _ in the place of each byte that is no letter, digit or one of more.
func replace(s, more string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r < 0x80 && strings.ContainsRune(more, r):
			return r
		}
		return '_'
	}, s)
}

// SessionName makes a part of a path of a session's id: what is not in [A-Za-z0-9_.-]
// is a _, and so is what would make a name of more or other than one part.
func SessionName(id string) string {
	name := replace(id, "_.-")
	name = name[:min(len(name), 128)]
	if strings.Trim(name, ".") == "" {
		return "_" + name
	}
	return name
}

// StreamName is the name of the file of a stream: at is when it is made, and
// stream "stdout", "stderr", or "" for a file of both.
func StreamName(at time.Time, stream string) string {
	if stream != "" {
		stream = "-" + stream
	}
	return "bash-" + strconv.FormatInt(at.UnixNano(), 10) + stream + ".txt"
}

// LargeName is the name of a file of a large output, never the same twice.
func LargeName(at time.Time) string {
	return fmt.Sprintf("troupe-tool-output-%d-%s.txt", at.UnixMilli(), strings.ToLower(rand.Text()[:6]))
}

// CacheName is the name of the file of a reference.
func CacheName(ref string) string { return replace(ref, "_-") + ".txt" }
