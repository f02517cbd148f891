package wire

import (
	"time"

	"troupe/messages"
)

// span returns a duration, which must be positive if given.
func span(field string, ms *int64) (time.Duration, *messages.Error) {
	switch {
	case ms == nil:
		return 0, nil
	case *ms < 1 || *ms > int64(messages.MaxDuration/time.Millisecond):
		return 0, messages.Invalid(field, field+" must be a positive number of milliseconds, at most ten years; leave it out for none")
	}
	return time.Duration(*ms) * time.Millisecond, nil
}

// GraceOf returns a grace as messages have it: 0 for absent (the default), negative for
// none.
func GraceOf(ms *int64) (time.Duration, *messages.Error) {
	switch {
	case ms == nil:
		return 0, nil
	case *ms == 0:
		return -1, nil
	case *ms < 0 || *ms > int64(messages.MaxDuration/time.Millisecond):
		return 0, messages.Invalid("grace_ms", "grace_ms must be a number of milliseconds, 0 to kill at once, at most ten years; leave it out for the usual grace")
	}
	return time.Duration(*ms) * time.Millisecond, nil
}

// GraceMS returns a grace as JSON has it.
func GraceMS(d time.Duration) *int64 {
	if d < 0 {
		return new(int64)
	}
	return positive(d)
}

// positive returns a duration in milliseconds, rounded up, or nil for 0.
func positive(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := int64((d + time.Millisecond - 1) / time.Millisecond)
	return &ms
}
