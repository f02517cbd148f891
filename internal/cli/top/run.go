package top

import (
	"context"
	"errors"
	"os"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// framesPerSecond bounds how often the screen is drawn. A key is painted after at most one frame.
const framesPerSecond = 60

// Check rejects flags that are invalid, and what is no terminal.
func (f *Flags) Check(a *connect.Command) error {
	if a.JSON {
		return messages.Invalid("json", "top draws a screen and has no JSON output; use troupe ps --json")
	}
	if err := connect.OneOf("sort", f.Sort, SortKeys()); err != nil {
		return err
	}
	if err := connect.CheckScope(a, "scope", f.Scope); err != nil {
		return err
	}
	kind, _ := a.Main.Getenv("TERM")
	if !cli.IsTerminal(a.Main.In) || !cli.IsTerminal(a.Main.Out) || kind == "" || kind == "dumb" {
		e := messages.Invalid("terminal", "top needs a terminal with a movable cursor on stdin and stdout")
		e.Hint = "troupe ps prints the table once"
		return e
	}
	return nil
}

// Run shows the table until the user quits or a signal arrives.
func Run(a *connect.Command, f *Flags) error {
	ctx, cancel := context.WithCancel(a.Ctx)
	defer cancel()
	a.Ctx = ctx
	m := newModel(a, f)
	m.child.endGuard = terminal.GuardScreen(a.Main)
	defer func() { m.child.endGuard() }()
	program := tea.NewProgram(m, tea.WithInput(a.Main.In), tea.WithOutput(a.Main.Out), tea.WithEnvironment(a.Main.Env), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond))
	signals := cli.Listen()
	defer signals.Close()
	go passSignals(ctx, signals, m.child, program)
	_, err := program.Run()
	switch {
	case m.signal != nil:
		sig, _ := m.signal.(unix.Signal)
		return cli.ExitStatus(cli.SignalBase + int(sig))
	case errors.Is(err, unix.EIO): // the terminal is gone
		return cli.ExitStatus(cli.SignalBase + int(unix.SIGHUP))
	}
	return err
}

// passSignals ends the program by a signal. A second one ends this process at once, even if the
// terminal takes no output: its guard restores it.
func passSignals(ctx context.Context, signals *cli.Signals, child *childProcess, program *tea.Program) {
	var got os.Signal
	for {
		select {
		case sig := <-signals.Incoming:
			ends, atOnce := child.pass(sig)
			if !ends {
				continue
			}
			if got != nil || atOnce {
				number, _ := sig.(unix.Signal)
				os.Exit(cli.SignalBase + int(number))
			}
			got = sig
			go program.Send(signalled{sig})
		case <-ctx.Done():
			return
		}
	}
}
