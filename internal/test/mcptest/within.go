package mcptest

import (
	"testing"
	"time"
)

// Patience exceeds the time that anything in those tests takes.
const Patience = 20 * time.Second

// Within returns the next value, or fails the test if none comes in time.
func Within[T any](t testing.TB, from <-chan T) (it T) {
	t.Helper()
	select {
	case it = <-from:
	case <-time.After(Patience):
		t.Fatalf("no %T came", it)
	}
	return it
}
