package run

import (
	"context"

	"troupe/backends/engine"
	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// Rerun runs the command of a job of the daemon again, and ends with its exit status. The daemon
// completes the request from its record of the job; what that does not have comes from us. Of the
// flags Background, JSON, Name, Replace, Env and Keys are used.
func Rerun(m *cli.Main, f *Flags, job messages.JobID) error {
	r := messages.RunCommand{RerunOf: job, Labels: messages.Labels{Name: f.Name}, Replace: f.Replace}
	if f.Background {
		r.Mode = messages.ModeAsync
	}
	if err := addVariables(m, &r, f); err != nil {
		return err
	}
	if err := r.Check(); err != nil {
		return err
	}
	var err error
	if f.leave, err = terminal.ParseKeys(f.Keys); err != nil {
		return err
	}
	g := &foreground{main: m, flags: f, request: r, screen: terminal.NewPrinter(m), signals: cli.Listen(), fatal: make(chan error, 1)}
	defer g.signals.Close()
	if err := g.look(g.findJob); err != nil {
		return err
	}
	return g.run()
}

// findJob finds the daemon, and the job whose command is run again.
func (g *foreground) findJob() error {
	c, err := connect.FindDaemon(g.main, connect.Required, g.screen)
	if err != nil {
		return err
	}
	g.host = newRemote(c, g.flags.JSON, g.screen.Err.Terminal)
	found, err := host.Ask(context.Background(), g.host, messages.FindJob{Job: g.request.RerunOf})
	if err != nil {
		return err
	}
	job := found.Job
	if job.Request == nil {
		g.screen.Notef("job %s was recorded by an older troupe: environment policy, input, grace, limits and quota are the defaults", job.ID)
		job.Request = &messages.RequestTerms{EnvPolicy: messages.EnvCaller, Stdin: messages.StdinPipe}
	}
	live := messages.SessionPlan{Backend: job.Backend}.Live()
	if live {
		info, open, err := findSession(context.Background(), g.host, job.Scope, job.Session)
		if err != nil {
			return err
		}
		if open && g.waitsForItself(info) {
			return inItself(info, "run it in the background with -b")
		}
	}
	g.repeat(job, live)
	return nil
}

// repeat adds to the request what is ours: environment, umask and limits, if those of the job were
// its caller's, and what the job reads and writes, so far as we show it.
func (g *foreground) repeat(job messages.Record, live bool) {
	r := &g.request
	r.RerunOf, r.Quota = messages.JobID(job.UID), job.Request.Quota
	if !live {
		r.Env.Base = unmarked(g.main.Env)
		if job.Request.EnvPolicy == messages.EnvCaller {
			r.Umask, r.Limits = g.main.Umask(), engine.OwnLimits()
		}
		if job.Terminal != (messages.Terminal{}) {
			g.onTerminal()
			return
		}
	}
	r.Streams = messages.MergedStreams
	if len(job.Output) > 1 {
		r.Streams = messages.SeparateStreams
	}
	r.Stdin = messages.StdinNull
	switch {
	case job.Request.Stdin != messages.StdinPipe:
	case g.flags.Background && job.Mode.Background():
		r.Stdin = messages.StdinPipe // for troupe write
	case !g.flags.Background && !cli.IsTerminal(g.main.In) && !isNull(g.main.In):
		r.Stdin, g.stdinForwarded = messages.StdinPipe, true
	}
}

// onTerminal gives the command a terminal of our size, and our keys.
func (g *foreground) onTerminal() {
	r, f := &g.request, g.flags
	f.PTY = true
	r.Terminal, r.Stdin = cli.TerminalSize(g.main), messages.StdinNull
	if !f.Background && forwardsKeys(g.main, f) {
		r.Stdin = messages.StdinPipe // what is written there is typed
	}
	r.Shown = !f.JSON && cli.IsTerminal(g.main.Out) && cli.IsTerminal(g.main.In)
}
