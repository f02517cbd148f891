package doctor

import (
	"fmt"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"troupe/backends/keeper"
	"troupe/internal/cli/config"
	"troupe/messages"
)

// state inspects the state directory of a running daemon, or of one that could start.
func (c *doctorReport) state(path string, running bool) {
	d := c.listState(path)
	if running && d.State == "absent" {
		d.State, d.Why = "wrong", "it is gone"
	}
	err := takesWork(*d)
	switch {
	case err == nil:
	case running && d.Files == 0 && d.Free >= keeper.DiskNeeded(filepath.Join(d.Path, config.KeeperName)): // existing files can still grow
		c.problem("the daemon can make no file: a command waits as soon as its output needs one, and sessions with a shell, terminals and detached commands may be refused: %v", err)
	default:
		c.problem("the daemon can start nothing: %v", err)
	}
}

func (c *doctorReport) listState(path string) *directory {
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
			Hint: "put back what the daemon keeps there, or end the daemon with troupe shutdown --stop-jobs: the next one makes it anew",
		}
	}
	if err := config.Probe(d.Path); err != nil {
		return config.CannotWrite(d.Path, err)
	}
	if needs := keeper.DiskNeeded(filepath.Join(d.Path, config.KeeperName)); d.Free < needs {
		return &messages.Error{
			Code: messages.ResourceExhausted, Reason: "directory", Hint: "make room",
			Message: fmt.Sprintf("%s has %s free, and the journal of the keeper needs %s", d.Path, humanize.IBytes(uint64(d.Free)), humanize.IBytes(uint64(needs))),
		}
	}
	return nil
}
