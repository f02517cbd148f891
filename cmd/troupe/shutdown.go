package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"troupe/backends/keeper"
	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

func shutdownCommand(m *cli.Main) *cobra.Command {
	var stopJobs bool
	grace := flags.Duration{Name: "grace", Zero: true}
	cmd := &cobra.Command{
		Use: "shutdown [flags]", Short: "Stop the daemon", Args: flags.NoArgs,
		Long: `Stop the daemon. Its jobs continue if a keeper runs them. Else they would end with
it, and the daemon refuses to stop while it has jobs. --stop-jobs also ends keepers that no daemon
of this version can use, and kills their jobs at once. It needs no daemon for that.`,
	}
	cmd.Flags().BoolVar(&stopJobs, "stop-jobs", false, "stop all jobs first")
	cmd.Flags().Var(&grace, "grace", "time from TERM to KILL (default each job's own)")
	cmd = connect.NewCommand(m, cmd, nil, func(a *connect.Command) error { return shutDown(a, stopJobs, stopFlags{grace: grace}) })
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if stopJobs && !grace.Given && errors.Is(err, connect.ErrNoDaemon) {
			return endKeepers(m, cmd, err)
		}
		return err
	}
	return cmd
}

// shutDown ends the daemon and prints what continues without it.
func shutDown(a *connect.Command, stopJobs bool, f stopFlags) error {
	about, err := a.Version(a.Ctx)
	if err != nil {
		return err
	}
	jobs, _ := host.Ask(a.Ctx, a.Host(), messages.ListJobs{}) // only for their names
	ended := connect.WaitForExit(about.PID)
	done, err := host.Ask(a.Ctx, a.Host(), messages.ShutdownNode{KeepJobs: !stopJobs, Grace: f.span(), Reason: "troupe shutdown"})
	if err != nil {
		return err
	}
	ended() // returns when the socket and the state directory are free for a new daemon
	r := shutdownResult{ShutdownDone: done, Running: []messages.UID{}}
	if stopJobs {
		r.endForeign(a, about.State)
		if len(r.Survivors) == 0 {
			r.add(connect.SetAside(about.State)) // of a daemon of another version
		}
	}
	on := connect.FindRunning(about.State)
	r.Running, r.Escaped = append(append(r.Running, on.Held...), on.Detached...), on.Escaped
	if !a.JSON {
		printRunning(a.Main, on, jobs.Jobs)
	}
	return r.end(a)
}

// endKeepers ends the keepers that no daemon of this version can use. It returns none if there are
// none.
func endKeepers(m *cli.Main, cmd *cobra.Command, none error) error {
	at, err := config.Read(m)
	if err == nil {
		err = connect.HeldByAnother(cmd.Context(), at.State)
	}
	if err != nil {
		return err
	}
	a := &connect.Command{Main: m, Cmd: cmd, Ctx: cmd.Context()}
	a.JSON, _ = cmd.Flags().GetBool("json")
	r := shutdownResult{Running: []messages.UID{}}
	if !r.endForeign(a, at.State) {
		return none
	}
	return r.end(a)
}

// shutdownResult is the object of shutdown. Running has the jobs that continue, Escaped the
// processes that have left their jobs and do.
type shutdownResult struct {
	messages.ShutdownDone
	Running []messages.UID   `json:"running"`
	Escaped []keeper.Escapee `json:"escaped"`
	connect.Failures
}

// endForeign ends keepers of another version, and reports whether there were any.
func (r *shutdownResult) endForeign(a *connect.Command, state string) bool {
	ended, left, errs := connect.EndForeign(state)
	for _, k := range ended {
		a.PrintError(fmt.Errorf("ended the keeper of %s (process %d), which was of another version, with its jobs", k.Dir, k.PID))
	}
	r.Survivors = append(r.Survivors, left...)
	for _, err := range errs {
		r.add(err)
	}
	return len(ended)+len(errs) > 0
}

func (r *shutdownResult) add(err error) {
	if err != nil {
		r.Add(err)
	}
}

func (r *shutdownResult) end(a *connect.Command) error {
	r.Survivors, r.Escaped = out.List(r.Survivors), out.List(r.Escaped)
	return a.Stopped(r, r.Failures, r.Survivors)
}

// printRunning prints what continues without the daemon, and how to reach it.
func printRunning(m *cli.Main, on connect.RunOn, jobs []messages.Record) {
	counts := on.Counts()
	if counts == "" {
		return
	}
	var names []string
	for _, j := range jobs {
		if !slices.Contains(on.Held, j.UID) && !slices.Contains(on.Detached, j.UID) {
			continue
		}
		name := string(j.ID)
		if j.Name != "" {
			name += " (" + j.Name + ")"
		}
		if names = append(names, name); len(names) == maxRunningNamed {
			names = append(names, "…")
			break
		}
	}
	for _, e := range on.Escaped[:min(len(on.Escaped), maxRunningNamed)] {
		names = append(names, e.String())
	}
	if len(names) > 0 {
		counts += ": " + strings.Join(names, ", ")
	}
	fmt.Fprintf(m.Err, "troupe: still running without the daemon: %s\n", out.Clean(counts))
	fmt.Fprintln(m.Err, "troupe: start a daemon to reach them (troupe serve or troupe run -b), then troupe ps lists them; troupe shutdown --stop-jobs stops them")
}

// maxRunningNamed bounds the jobs that shutdown names.
const maxRunningNamed = 8
