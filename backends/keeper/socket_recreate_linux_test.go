package keeper_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A keeper whose socket was removed, by who cleans up, makes another for who calls: no
// daemon could begin, as long as it lived.
func TestAKeeperWhoseSocketWasRemovedIsFound(t *testing.T) {
	t.Parallel()
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	_, pid := c.Keeper()
	job := sleeper(t, c)
	for range 2 {
		c.Close(true)
		if err := os.Remove(filepath.Join(dir, "keeper.sock")); err != nil {
			t.Fatal(err)
		}
		c = open(t, dir)
		if _, now := c.Keeper(); now != pid || startTime(job) == "" {
			t.Fatalf("the keeper is %d, and was %d", now, pid)
		}
		if _, err := os.Lstat(filepath.Join(dir, "keeper.call")); !os.IsNotExist(err) {
			t.Errorf("the call is still there: %v", err)
		}
	}
	c.Close(true)
}
