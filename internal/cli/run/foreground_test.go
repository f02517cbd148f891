package run

import (
	"errors"
	"testing"
)

// abort does not block on a second error: wait may have returned already.
func TestWhatEndsACommandWaitsForNobody(t *testing.T) {
	t.Parallel()
	g := &foreground{fatal: make(chan error, 1)}
	first := errors.New("first")
	g.abort(first)
	g.abort(errors.New("second"))
	if got := <-g.fatal; got != first {
		t.Errorf("heard %v", got)
	}
}
