package run

import (
	"errors"
	"testing"
)

// Who finds something else that ends the command waits for nobody: it may be over, and
// who waits for it waits for him.
func TestWhatEndsACommandWaitsForNobody(t *testing.T) {
	t.Parallel()
	g := &foreground{useless: make(chan error, 1)}
	first := errors.New("first")
	g.abort(first)
	g.abort(errors.New("second"))
	if got := <-g.useless; got != first {
		t.Errorf("heard %v", got)
	}
}
