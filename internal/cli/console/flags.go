package console

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/oklog/ulid/v2"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/daemon"
	"troupe/internal/cli/dialectconfig"
	"troupe/internal/cli/dialecthost"
	"troupe/internal/cli/terminal"
	"troupe/internal/dialect"
	"troupe/internal/dialect/codelia"
	"troupe/internal/dialect/omp"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Flags holds the flags of console.
type Flags struct {
	Send     string // where messages go: a path, or a command after a |
	NoPTY    bool   // run no command on a terminal
	NoDaemon bool
}

// frames bounds how often the screen is drawn, per second.
const frames = 30

// Run shows the console until the user leaves or a signal arrives. Its commands end with it.
func Run(m *cli.Main, f *Flags) error {
	if !cli.IsTerminal(m.In) || !cli.IsTerminal(m.Out) {
		err := messages.Invalid("terminal", "troupe console needs a terminal as its input and output")
		err.Hint = "troupe run and troupe rpc work without one"
		return err
	}
	at, err := config.Read(m)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return &messages.Error{Code: messages.CwdNotFound, Message: "the current directory cannot be found: " + err.Error(), Hint: "start it in one that exists"}
	}
	for _, name := range []string{"codelia", "omp"} {
		if err := dialectconfig.Check(m, name, at, dir); err != nil {
			return err
		}
	}
	to, err := newTarget(f.Send, dir)
	if err != nil {
		return err
	}
	if !f.NoDaemon {
		if f.NoDaemon, err = dialecthost.WithoutDaemon(m, at); err != nil {
			return err
		}
	}
	host, done, err := dialecthost.Open(m, at, f.NoDaemon)
	if err != nil {
		return err
	}
	defer done()
	return open(m, f, at, host, dir, to)
}

// open opens the scope of the console and its sessions, and shows it.
func open(m *cli.Main, f *Flags, at *config.Settings, h *dialecthost.Host, dir string, to target) error {
	log := logger(m, at)
	name := "console-" + strings.ToLower(ulid.Make().String())
	parent := dialecthost.Scope(m, "console")
	env := slices.Clone(m.Env)
	if f.NoPTY {
		env = shelltext.Set(env, omp.NoPTYVar, "1")
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d := &driver{
		ctx: ctx, host: h, scope: messages.ScopePath(string(parent) + "/" + name), target: to, dir: dir, env: env, beside: &beside, log: log,
		cancels: map[int]func(){},
	}
	hold := &dialect.ScopeHold{Host: h, Path: d.scope}
	if err := hold.Take(ctx, &beside); err != nil {
		return err
	}
	beside.Go(func() {
		if _, err := codelia.EndOrphans(ctx, h, parent, dialecthost.OwnerLives); err != nil && ctx.Err() == nil {
			log.Warn("commands of dead consoles could not be ended", "error", err)
		}
	})
	closeSessions, err := d.openSessions(m, f, at, name)
	if err == nil {
		err = show(m, d)
		closing, stop := context.WithTimeout(context.Background(), dialect.LeavePatience)
		defer stop()
		err = errors.Join(err, closeSessions(closing))
	}
	cancel()
	return errors.Join(err, hold.End())
}

// openSessions opens the sessions of codelia and omp.
func (d *driver) openSessions(m *cli.Main, f *Flags, at *config.Settings, name string) (func(context.Context) error, error) {
	files := dialecthost.NewSessionFiles(at, "console-", d.log)
	made, err := dialectconfig.NewOMP(at, f.NoDaemon, files, d.log)
	if err != nil {
		return nil, err
	}
	if made.Settings.VirtualTerminal == "" { // a person sits at it
		made.Settings.VirtualTerminal = "on"
	}
	d.terminal = made.Settings.VirtualTerminal == "on" && omp.PTYAllowed(d.env)
	bang := dialectconfig.CodeliaOptions(at, d.dir, d.env, d.log)
	bang.Host, bang.Beside, bang.Scope, bang.SessionID, bang.Files = d.host, d.beside, d.scope, name, files.Open(name)
	d.bang = codelia.New(bang)
	d.tool = made.Open(omp.Options{
		Host: d.host, Beside: d.beside, Scope: d.scope, Dir: d.dir, Home: shelltext.Value(d.env, "HOME"), Env: d.env, SessionID: name + "-tool", Owner: name,
		HasUI: true, Screen: cli.TerminalSize(m), Console: d.show,
		Jobs: omp.NewJobs(omp.JobsOptions{
			Beside: d.beside, Limit: omp.MaxJobs(int(at.OMP.Jobs)), Log: d.log,
			Deliver:  func(_ context.Context, n omp.Delivery) error { d.tell(noticeMsg{n}); return nil },
			Progress: func(_, job string, r dialect.Result) { d.tell(progressMsg{job, r}) },
		}),
	})
	return func(ctx context.Context) error { return errors.Join(d.tool.Close(ctx), d.bang.Close(ctx)) }, nil
}

// show runs the program of the console until it ends.
func show(m *cli.Main, d *driver) error {
	model := newModel(d, d.target.name(), d.terminal, cli.TerminalSize(m))
	p := tea.NewProgram(model, tea.WithInput(m.In), tea.WithOutput(m.Out), tea.WithEnvironment(m.Env), tea.WithoutSignalHandler(), tea.WithFPS(frames))
	d.tell = p.Send
	signals := cli.Listen()
	defer signals.Close()
	defer terminal.GuardScreen(m)()
	over := make(chan struct{})
	defer close(over)
	d.beside.Go(func() {
		select {
		case <-signals.Incoming:
			p.Quit()
		case <-over:
		}
	})
	_, err := p.Run()
	return err
}

// logger returns the log of the console: a terminal shows the console and no log.
func logger(m *cli.Main, at *config.Settings) *slog.Logger {
	if cli.IsTerminal(m.Err) {
		return slog.New(slog.DiscardHandler)
	}
	return daemon.Slogger(daemon.NewLog(m, at))
}
