package messages_test

import (
	"testing"
	"time"

	"troupe/messages"
)

// A ULID tells when it was made; what is none does not.
func TestUIDMade(t *testing.T) {
	if got := messages.UID("01ARZ3NDEKTSV4RRFFQ69G5FAV").Made(); !got.Equal(time.UnixMilli(1469922850259)) {
		t.Errorf("it was made at %s", got.UTC())
	}
	for _, no := range []messages.UID{"", "SHELL1", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav"} {
		if got := no.Made(); !got.IsZero() {
			t.Errorf("%q was made at %s", no, got)
		}
	}
}
