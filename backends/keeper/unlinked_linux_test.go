package keeper

import (
	"os"
	"path/filepath"
	"testing"
)

// A keeper gives up its jobs when its directory was removed, not when it cannot tell.
func TestAPlaceThatCannotBeLookedAtIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), lockName)
	lease, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{lease: lease}
	if s.unlinked() {
		t.Error("what is there was taken for removed")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !s.unlinked() {
		t.Error("what was removed was taken for there")
	}
	if err := lease.Close(); err != nil {
		t.Fatal(err)
	}
	if s.unlinked() {
		t.Error("what cannot be looked at was taken for removed")
	}
}
