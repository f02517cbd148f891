//go:build !linux

package chaosrun

import "troupe/internal/cli/out"

// processFD refuses: without keepers no job would outlive the daemon.
func processFD(int) (int, error) {
	return 0, out.Unsupported("faults", "troupe chaos needs Linux", "run it there")
}
