package connect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/backends/keeper"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/out"
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

// RunOn holds what runs in the keepers of a state directory.
type RunOn struct {
	Held     []messages.UID // by the keeper of the daemon
	Detached []messages.UID
	Shells   int // live shells of sessions

	Escaped []keeper.Escapee // processes that have left their jobs
}

// FindRunning returns what runs in the keepers of a state directory. It asks no process.
func FindRunning(state string) (on RunOn) {
	for i, dir := range KeeperDirs(state) {
		jobs, shells := keeper.Running(dir)
		if i == 0 {
			on.Held, on.Shells = jobs, shells
		} else {
			on.Detached = append(on.Detached, jobs...)
		}
		on.Escaped = append(on.Escaped, keeper.Escaped(dir)...)
	}
	return on
}

// KeeperDirs returns the directories of the keepers of a state directory: that of the daemon
// first, then those of detached jobs. "" has none.
func KeeperDirs(state string) []string {
	if state == "" {
		return nil
	}
	dirs, root := []string{filepath.Join(state, config.KeeperName)}, filepath.Join(state, config.DetachedName)
	for _, id := range keeper.ListDetached(root) {
		dirs = append(dirs, filepath.Join(root, string(id)))
	}
	return dirs
}

// ForeignKeeper is a keeper of another protocol that was ended.
type ForeignKeeper struct {
	Dir string
	PID int
}

// EndForeign ends the keepers of a state directory that speak another protocol, which no daemon of
// this build can use, and kills their jobs at once. It returns the processes that could not be
// stopped. The jobs of a keeper with an error may run on.
func EndForeign(state string) (ended []ForeignKeeper, left []messages.Survivor, errs []error) {
	for _, dir := range KeeperDirs(state) {
		pid, some, err := keeper.EndForeign(dir)
		left = append(left, some...)
		switch {
		case err != nil:
			errs = append(errs, err)
		case pid > 0:
			ended = append(ended, ForeignKeeper{dir, pid})
		}
	}
	return ended, left, errs
}

// SetAside renames the journal of the keeper of a daemon of another protocol, after that daemon has
// stopped all its jobs.
func SetAside(state string) error {
	if state == "" {
		return nil
	}
	return keeper.SetAside(KeeperDirs(state)[0])
}

// Counts says how many jobs, live shells and escaped processes there are; "": none.
func (on RunOn) Counts() string {
	var parts []string
	for _, p := range []struct {
		n    int
		noun string
	}{{len(on.Held), "job"}, {on.Shells, "live shell"}, {len(on.Detached), "detached job"}, {len(on.Escaped), "escaped process"}} {
		if p.n > 0 {
			parts = append(parts, out.Plural(p.n, p.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// noDaemonHint adds to the error for a missing daemon what runs without it, and how to reach
// detached jobs, if there are any.
func noDaemonHint(e *messages.Error, at *config.Settings) error {
	if counts := FindRunning(at.State).Counts(); counts != "" {
		e.Message += "; still running without it: " + counts
	}
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
