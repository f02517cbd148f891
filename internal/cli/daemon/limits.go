package daemon

import (
	"os"
	"slices"

	"troupe/internal/limits"
)

// examineLimits logs what limits this process, or returns an error if that would end it.
func (d *daemon) examineLimits() error {
	found := limits.Examine(os.Getpid())
	if err := limits.Refuse("daemon", found); err != nil {
		return err
	}
	for _, f := range found {
		d.log.Warn().Msg("the daemon: " + f.Text)
	}
	return nil
}

// examineKeeper logs what limits the keeper, which an earlier daemon may have started, and not
// the daemon.
func (d *daemon) examineKeeper(pid int) {
	own := limits.Examine(os.Getpid())
	for _, f := range limits.Examine(pid) {
		if !slices.Contains(own, f) {
			d.log.Warn().Msg("the keeper: " + f.Text)
		}
	}
}
