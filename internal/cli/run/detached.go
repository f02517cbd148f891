package run

import (
	"context"
	"crypto/rand"
	"net"
	"path/filepath"
	"time"

	"troupe"
	"troupe/backends/keeper"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/messages"
)

// logFile makes --log absolute, and resolves the symlinks of its directory now.
func logFile(r *messages.RunCommand, f *Flags) error {
	r.Detach = f.Detach
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
	if !g.flags.NoDaemon {
		c, err := connect.FindDaemon(g.main, g.flags.Replace, g.screen)
		if err != nil {
			return err
		}
		if c != nil {
			g.host = newRemote(c, g.flags.JSON, g.screen.Err.Terminal)
			return nil
		}
	}
	at, err := config.Read(g.main)
	if err != nil {
		return err
	}
	if err := at.OwnState(); err != nil {
		return err
	}
	o, err := connect.FleetOptions(g.main, at)
	if err != nil {
		return err
	}
	o.Fresh = true
	keeper.Sweep(o.Root, connect.JournalAge)
	fleet, err := keeper.OpenFleet(context.Background(), o)
	if err != nil {
		return err
	}
	if !g.flags.NoDaemon && listensAt(at.Socket) { // this daemon may have missed our fleet; one that starts from now on waits for it
		fleet.Close(true)
		return g.findDetached()
	}
	node, err := troupe.Open(context.Background(), troupe.Options{
		WorkDir: g.request.Dir, JobPrefix: freshPrefix(), Shells: at.Shells, Prefix: at.Prefix, Engine: fleet, Logs: connect.OutputLogs{Keeper: fleet},
	})
	if err != nil {
		fleet.Close(true)
		return err
	}
	g.host = detachedNode{localHost{node}}
	return nil
}

// listensAt reports whether a daemon listens at a socket; it may not answer yet.
func listensAt(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
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

// detachedNode is a node of this process whose jobs outlive it.
type detachedNode struct{ localHost }

func (l detachedNode) shutdown(ctx context.Context, r messages.ShutdownNode) error {
	r.KeepJobs = true
	return l.node.Shutdown(ctx, r)
}

func (l detachedNode) ours() bool { return false }

func (l detachedNode) pacer() (asker, time.Duration) { return nil, 0 }

// tellDetached prints where the log and the pid file of a detached job are.
func (g *foreground) tellDetached(job messages.Job) {
	if len(job.Output) == 0 || job.Output[0].File == "" { // queued
		return
	}
	log := job.Output[0].File
	g.screen.Notef("job %s is detached: its log is %s, its pid file %s", job.ID, log, keeper.PIDFilePath(log))
}
