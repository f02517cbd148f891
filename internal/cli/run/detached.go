package run

import (
	"context"
	"crypto/rand"
	"path/filepath"

	"troupe/backends/keeper"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/node"
	"troupe/messages"
)

// logFile makes --log absolute, and resolves the symlinks of its directory now.
func logFile(r *messages.RunCommand, f *Flags) error {
	if f.Log == "" {
		return nil
	}
	path, err := filepath.Abs(f.Log)
	if err != nil {
		return noDirectory(err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		e := messages.Invalid("log", "cannot find the directory of the log: "+err.Error())
		e.Hint = "make it, or name another file"
		return e
	}
	r.LogFile = filepath.Join(dir, filepath.Base(path))
	return nil
}

// findDetached gives a detached command to the daemon, if one runs or --replace needs it.
// Otherwise this process starts it, in a keeper of its own.
func (g *foreground) findDetached() error {
	if err := g.forDaemon(); err != nil { // the keeper is another process, too
		return err
	}
	at, err := config.Read(g.main)
	if err != nil {
		return err
	}
	need := connect.IfRunning
	if g.flags.Replace {
		need = connect.Required
	}
	for alone := g.flags.NoDaemon; ; need = connect.Required {
		if !alone {
			c, err := connect.FindDaemon(g.main, need, g.screen)
			switch {
			case connect.IsConfined(err) && !g.flags.Replace:
				alone = true
			case err != nil:
				return err
			case c != nil:
				g.host = newRemote(c, g.flags.JSON, g.screen.Err.Terminal)
				return nil
			}
		}
		fleet, err := openFleet(g.main, at)
		if err != nil {
			return err
		}
		if alone || connect.HeldByAnother(context.Background(), at.State) == nil {
			return g.openDetached(fleet, at)
		}
		fleet.Close(true) // this daemon may have missed our fleet; one that starts from now on waits for it
	}
}

// openFleet makes ready to start a keeper for a detached job.
func openFleet(m *cli.Main, at *config.Settings) (*keeper.Fleet, error) {
	if err := at.OwnState(); err != nil {
		return nil, err
	}
	o, err := connect.FleetOptions(m, at)
	if err != nil {
		return nil, err
	}
	o.Fresh = true
	keeper.Sweep(o.Root, connect.JournalAge)
	return keeper.OpenFleet(context.Background(), o)
}

// openDetached opens a node of this process that starts the command in a keeper of its own.
func (g *foreground) openDetached(fleet *keeper.Fleet, at *config.Settings) error {
	node, err := node.Open(context.Background(), node.Options{
		WorkDir: g.request.Dir, JobPrefix: freshPrefix(), Shells: at.Shells, Prefix: at.Prefix, Engine: fleet, Logs: connect.OutputLogs{Keeper: fleet},
	})
	if err != nil {
		fleet.Close(true)
		return err
	}
	g.host = newLocal(node, true)
	return nil
}

// freshPrefix returns a random prefix for the id of a job that gets none from a daemon.
func freshPrefix() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	for i := range b {
		b[i] = "bcdfghjkmnpqrstvwxz"[b[i]%19]
	}
	return "d" + string(b[:]) + "-"
}

// tellDetached prints where the log and the pid file of a detached job are.
func (g *foreground) tellDetached(job messages.Record) {
	if len(job.Output) == 0 || job.Output[0].File == "" { // queued
		return
	}
	log := job.Output[0].File
	g.screen.Notef("job %s is detached: its log is %s, its pid file %s", job.ID, log, keeper.PIDFilePath(log))
}
