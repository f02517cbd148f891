package doctor

import (
	"fmt"
	"path/filepath"

	"github.com/dustin/go-humanize"

	"troupe/backends/keeper"
	"troupe/internal/cli/config"
	"troupe/messages"
)

// state looks at the state directory of the daemon that runs, or of one that can begin.
func (c *doctorReport) state(path string, running bool) {
	d := c.listState(path)
	if running && d.State == "absent" {
		d.State, d.Why = "wrong", "it is gone"
	}
	err := takesWork(*d)
	switch {
	case err == nil:
	case running && d.Files == 0 && d.Free >= keeper.DiskNeeded(filepath.Join(d.Path, config.KeeperName)): // what it writes to is there
		c.problem("the daemon can make no file: a command waits as soon as its output needs one, and sessions with a shell, terminals and detached commands may be refused: %v", err)
	default:
		c.problem("the daemon can start nothing: %v", err)
	}
}

func (c *doctorReport) listState(path string) *directory {
	c.Directories = append(c.Directories, inspect("state of the daemon", path))
	return &c.Directories[len(c.Directories)-1]
}

// takesWork says why nothing can be recorded in a state directory, and so nothing be
// started: a daemon and its keeper go on without it for as long as nothing is asked of them.
func takesWork(d directory) error {
	switch {
	case d.State == "absent": // it is made
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
