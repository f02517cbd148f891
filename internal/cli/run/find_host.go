package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/backends/engine"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/internal/node"
	"troupe/messages"
)

// findHost chooses where the command runs: in the daemon, or else in this process.
func (g *foreground) findHost() error {
	f := g.flags
	if f.Detach {
		return g.findDetached()
	}
	if !f.NoDaemon {
		c, err := connect.FindDaemon(g.main, f.need(), g.screen)
		if err != nil {
			return err
		}
		if c != nil {
			g.host = newRemote(c, f.JSON, g.screen.Err.Terminal)
			if err := g.forDaemon(); err != nil || f.Session == "" {
				return err
			}
			return g.forSession()
		}
	}
	if err := f.checkLocal(); err != nil {
		return err
	}
	g.request.Umask = g.main.Mask
	if f.PromoteAfter.Given {
		g.screen.Notef("--promote-after has no effect without a daemon: the command stays in the foreground")
	}
	node, err := node.Open(context.Background(), node.Options{WorkDir: g.request.Dir, JobPrefix: "local-", OwnProcess: true, Beside: g.screen.IsGuard})
	if err != nil {
		return err
	}
	g.host = newLocal(node, false)
	return nil
}

// look finds the host, unless a signal comes first: an unresponsive daemon, or one that
// still starts, must not block the user. A daemon that was started keeps running.
func (g *foreground) look(find func() error) error {
	found := make(chan error, 1)
	go func() { found <- find() }()
	select {
	case err := <-found:
		if err == nil || !g.signals.Received() {
			return err // a later signal is for the command
		}
	case sig := <-g.signals.Incoming:
		g.signals.First(sig)
	}
	g.screen.Echoed(g.signals.Got)
	return g.givenUp("the command was not started")
}

// forDaemon completes the request so that it means the same in another process.
func (g *foreground) forDaemon() error {
	r := &g.request
	if r.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return noDirectory(err)
		}
		r.Dir = dir
	}
	r.Umask, r.Limits = g.main.Umask(), engine.OwnLimits()
	r.Env.Base = unmarked(r.Env.Base)
	switch {
	case g.flags.Background && g.flags.Interactive:
		r.Stdin = messages.StdinPipe // for troupe write
	case g.flags.Background, g.flags.Detach:
		r.Stdin = messages.StdinNull
	case r.Stdin == messages.StdinHost && isNull(g.main.In):
		r.Stdin = messages.StdinNull // there is nothing to forward
	case r.Stdin == messages.StdinHost:
		r.Stdin = messages.StdinPipe
		g.stdinForwarded = true
	}
	r.PromoteAfter = g.flags.PromoteAfter.D
	return nil
}

// unmarked returns an environment without the mark of another node's processes, which must not
// mark a job: that node would stop it with its own.
func unmarked(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "TROUPE_TREE=") })
}

// noDirectory returns the error for a current directory that was removed.
func noDirectory(err error) error {
	return &messages.Error{
		Code: messages.CwdNotFound, Message: "the current directory cannot be found: " + err.Error(), Hint: "change to one that exists",
	}
}

// isNull reports whether a file is /dev/null.
func isNull(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	info, ferr := f.Stat()
	return err == nil && ferr == nil && os.SameFile(null, info)
}

// feed copies our input to a command that does not share it. If that fails it stops the
// command, which would wait for input for ever.
func (g *foreground) feed(ctx context.Context) {
	if !g.stdinForwarded {
		return
	}
	go func() {
		if err := g.host.feed(ctx, g.main.In); err != nil {
			g.abort(err)
		}
	}()
}

// tellGoesOn reports that the command is still running. A program that reads stdout
// gets only the id; a note for users follows in the foreground, or if the id was not
// written.
func (g *foreground) tellGoesOn(job messages.Record) error {
	var err error
	switch {
	case g.flags.JSON:
		err = out.WriteJSON(g.main.Out, job)
	case g.request.Mode.Background():
		_, err = fmt.Fprintln(g.main.Out, job.ID)
	}
	switch {
	case g.request.Mode == messages.ModeDetached && (err != nil || !g.flags.JSON):
		g.tellDetached(job)
	case err != nil || !g.flags.JSON && !g.request.Mode.Background():
		g.screen.Notef("job %s continues in the background; troupe attach %s comes back, troupe stop %s stops it", job.ID, job.ID, job.ID)
	}
	if errors.Is(err, unix.EPIPE) {
		return cli.ExitStatus(cli.SignalBase + int(unix.SIGPIPE))
	}
	return err
}
