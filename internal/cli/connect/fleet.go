package connect

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/backends/keeper"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/messages"
)

// FleetOptions returns how the keepers of this state directory are found and started.
func FleetOptions(m *cli.Main, at *config.Settings) (keeper.FleetOptions, error) {
	self, err := os.Executable()
	if err != nil {
		return keeper.FleetOptions{}, fmt.Errorf("cannot find the keeper's program: %w", err)
	}
	return keeper.FleetOptions{Root: filepath.Join(at.State, config.DetachedName), Program: []string{self, "keeper"}, Build: m.Describe().Version}, nil
}

// noDaemonHint adds to the error for a missing daemon how to reach detached jobs, if
// there are any.
func noDaemonHint(m *cli.Main, e *messages.Error, at *config.Settings) error {
	if root := filepath.Join(at.State, config.DetachedName); len(keeper.ListDetached(root)) > 0 {
		e.Hint += "; detached jobs are in " + root + ": show, logs, wait, stop and kill take their --pid-file"
	}
	return e
}

// Defaults for what a daemon keeps of finished jobs: their number, age and bytes of
// output.
const (
	JournalJobs = 10_000
	JournalAge  = 7 * 24 * time.Hour
	JournalLogs = 10 << 30

	JournalSpare = time.Hour // more than the node takes to remove a job
)
