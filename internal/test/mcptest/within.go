// Package mcptest is what the tests of the MCP gateway's packages share.
package mcptest

import (
	"testing"
	"time"
)

// Patience is far beyond what anything in those tests takes.
const Patience = 20 * time.Second

// Within takes what comes next, if it comes in time.
func Within[T any](t testing.TB, from <-chan T) (it T) {
	t.Helper()
	select {
	case it = <-from:
	case <-time.After(Patience):
		t.Fatalf("no %T came", it)
	}
	return it
}
