package artifact

import (
	"errors"
	"strconv"
)

// Sizes that the dialects use.
const (
	WindowBytes  = 50 * 1024 // bytes of a tail window
	EndLines     = 500       // lines of each end in a preview
	PlainLines   = 1000      // lines of each end without a file
	PersistBytes = 100 << 20 // bytes of the file of a large output
	ViewLines    = 2000      // lines of a page
	ViewChars    = 2000      // characters of a line of a page
	LargeBytes   = 20_480    // bytes in memory before there is a file
	LargeHead    = 500       // first characters shown of a large output
	LargeTail    = 128       // last characters shown of it
	CacheChars   = 1000      // characters of a line of a cached output
	CacheBytes   = 64 << 10  // bytes of a part of a cached output
	NoteBytes    = 50 << 10  // bytes of a message with an uncut output
)

// CacheLimits bound what is read of cached outputs.
type CacheLimits struct {
	LineChars int // characters shown of a line
	ReadBytes int // bytes of a page
	GrepBytes int // bytes of a search
}

// CacheLimitsFrom reads the limits from environment variables: troupe's names first,
// then Codelia's.
func CacheLimitsFrom(lookup func(name string) string) CacheLimits {
	from := func(end string, otherwise int) int {
		return positive(lookup, otherwise, "TROUPE_OUTPUT_CACHE_"+end, "CODELIA_TOOL_OUTPUT_CACHE_"+end)
	}
	return CacheLimits{
		LineChars: from("MAX_LINE_LENGTH", CacheChars),
		ReadBytes: from("MAX_READ_BYTES", CacheBytes),
		GrepBytes: from("MAX_GREP_BYTES", DefaultGrepBytes),
	}
}

// LargeThreshold returns how many bytes of an output stay in memory, from
// environment variables.
func LargeThreshold(lookup func(name string) string) int {
	return positive(lookup, LargeBytes, "TROUPE_LARGE_OUTPUT_THRESHOLD_BYTES", "COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES")
}

// positive returns the value of the first name that is set to a positive integer.
func positive(lookup func(string) string, otherwise int, names ...string) int {
	for _, name := range names {
		if n, err := strconv.Atoi(lookup(name)); err == nil && n > 0 {
			return n
		}
	}
	return otherwise
}

// ErrInvalidParams means that a selection contradicts itself.
var ErrInvalidParams = errors.New("invalid params")

// Selection chooses lines of an output: from Offset on, the first Head, or the last
// Tail. nil means not given.
type Selection struct{ Offset, Limit, Head, Tail *int64 }

// Check rejects contradictions. Offset and Limit exclude Head and Tail, Offset is at
// least 0, all others at least 1.
func (s Selection) Check() error {
	ranged := s.Offset != nil || s.Limit != nil
	switch {
	case ranged && (s.Head != nil || s.Tail != nil), s.Head != nil && s.Tail != nil:
		return ErrInvalidParams
	case s.Offset != nil && *s.Offset < 0:
		return ErrInvalidParams
	}
	for _, n := range []*int64{s.Limit, s.Head, s.Tail} {
		if n != nil && *n < 1 {
			return ErrInvalidParams
		}
	}
	return nil
}
