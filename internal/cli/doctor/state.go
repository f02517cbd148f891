package doctor

import (
	"fmt"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"troupe/backends/keeper"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/messages"
)

// state inspects the state directory of a running daemon, or of one that could start.
func (c *doctorReport) state(path string, running bool) {
	d := c.listState(path)
	if running && d.State == "absent" {
		d.State, d.Why = "wrong", "it was removed"
	}
	err := takesWork(*d)
	switch {
	case err == nil:
	case running && d.Files == 0 && d.Free >= keeper.DiskNeeded(filepath.Join(d.Path, config.KeeperName)): // existing files can still grow
		c.problem("the daemon cannot create files: a command waits when its output needs one, and live shells, terminals and detached commands may be refused: %v", err)
	default:
		c.problem("the daemon cannot start jobs: %v", err)
	}
}

// listState adds the state directory to the report, and names journals of keepers that are
// damaged or of another version.
func (c *doctorReport) listState(path string) *directory {
	for _, dir := range connect.KeeperDirs(path) {
		if damage := keeper.Damage(dir); damage != "" {
			c.problem("%s", damage)
		}
	}
	c.Directories = append(c.Directories, inspect("state of the daemon", path))
	return &c.Directories[len(c.Directories)-1]
}

// takesWork explains why no fact can be recorded in a state directory, so that no job can
// start. An idle daemon and its keeper keep running without it.
func takesWork(d directory) error {
	switch {
	case d.State == "absent": // the daemon creates it
		return nil
	case d.Mode == "":
		return &messages.Error{
			Code: messages.Refused, Reason: "directory", Message: d.Path + ": " + d.Why,
			Hint: "restore its contents, or stop the daemon with troupe shutdown --stop-jobs: the next one creates it again",
		}
	}
	if err := config.Probe(d.Path); err != nil {
		return config.CannotWrite(d.Path, err)
	}
	if needs := keeper.DiskNeeded(filepath.Join(d.Path, config.KeeperName)); d.Free < needs {
		return &messages.Error{
			Code: messages.ResourceExhausted, Reason: "directory", Hint: "free disk space",
			Message: fmt.Sprintf("%s has %s free, and the journal of the keeper needs %s", d.Path, humanize.IBytes(uint64(d.Free)), humanize.IBytes(uint64(needs))),
		}
	}
	return nil
}
