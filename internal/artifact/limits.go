package artifact

import (
	"errors"
	"strconv"
)

// Sizes of the families.
const (
	WindowBytes  = 50 * 1024 // a tail window
	EndLines     = 500       // of each end in a preview
	PlainLines   = 1000      // of each end where there is no file
	PersistBytes = 100 << 20 // of a file of a large output
	ViewLines    = 2000      // of a page
	ViewChars    = 2000      // of a line of a page
	LargeBytes   = 20_480    // in memory before there is a file
	LargeHead    = 500       // characters of a large output that are shown first
	LargeTail    = 128       // and last
	CacheChars   = 1000      // of a line of a cached output
	CacheBytes   = 64 << 10  // of a part of it
	NoteBytes    = 50 << 10  // a message with an output that is not cut
)

// CacheLimits are the bounds of what is read of cached outputs.
type CacheLimits struct {
	LineChars int // of a line that are shown
	ReadBytes int // of a page
	GrepBytes int // of a search
}

// CacheLimitsFrom reads the bounds from the environment that lookup knows: our names,
// then those of the family.
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

// LargeThreshold is how many bytes an output may have in memory, from the
// environment that lookup knows.
func LargeThreshold(lookup func(name string) string) int {
	return positive(lookup, LargeBytes, "TROUPE_LARGE_OUTPUT_THRESHOLD_BYTES", "COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES")
}

// positive is the first of the names that is set to a positive integer.
func positive(lookup func(string) string, otherwise int, names ...string) int {
	for _, name := range names {
		if n, err := strconv.Atoi(lookup(name)); err == nil && n > 0 {
			return n
		}
	}
	return otherwise
}

// ErrInvalidParams says that a selection contradicts itself.
var ErrInvalidParams = errors.New("invalid params")

// Selection is which lines of an output are asked for: from Offset on, or the first
// Head, or the last Tail; nil: not named.
type Selection struct{ Offset, Limit, Head, Tail *int64 }

// Check says whether the selection is one: offset and limit go with each other alone,
// an offset is not negative, and all others are 1 at least.
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
