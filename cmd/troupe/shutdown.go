package main

import (
	"cmp"
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
it, and the daemon refuses to stop while it has jobs. With --stop-jobs and without a daemon, keepers
that another version of troupe has started are ended with their jobs.`,
	}
	cmd.Flags().BoolVar(&stopJobs, "stop-jobs", false, "stop all jobs first")
	cmd.Flags().Var(&grace, "grace", "time from TERM to KILL (default each job's own)")
	cmd = connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		f := stopFlags{grace: grace}
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
		if stopJobs && len(done.Survivors) == 0 {
			for _, dir := range connect.KeeperDirs(about.State) { // of a daemon of another version
				err = errors.Join(err, keeper.SetAside(dir))
			}
			if err != nil {
				return err
			}
		}
		on := connect.FindRunning(about.State)
		if a.JSON {
			result := shutdownResult{ShutdownDone: messages.ShutdownDone{Survivors: out.List(done.Survivors)}, Running: []messages.UID{}, Escaped: out.List(on.Escaped)}
			result.Running = append(append(result.Running, on.Held...), on.Detached...)
			err = a.Object(result)
		} else {
			printRunning(a.Main, on, jobs.Jobs)
		}
		for _, s := range done.Survivors {
			a.PrintError(out.SurvivorError(s))
		}
		if err == nil && len(done.Survivors) > 0 {
			return cli.ExitStatus(cli.StatusSurvivors)
		}
		return err
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if stopJobs && errors.Is(err, connect.ErrNoDaemon) {
			return endForeign(m, cmd, err)
		}
		return err
	}
	return cmd
}

// endForeign ends the keepers of another version, which no daemon of this one can use. It returns
// none if there are none.
func endForeign(m *cli.Main, cmd *cobra.Command, none error) error {
	at, err := config.Read(m)
	if err != nil {
		return err
	}
	asJSON, _ := cmd.Flags().GetBool("json")
	say := func(text string) {
		if !asJSON {
			fmt.Fprintln(m.Err, "troupe:", out.Clean(text))
		}
	}
	ended, left := 0, []messages.Survivor{}
	for _, dir := range connect.KeeperDirs(at.State) {
		pid, some, oerr := keeper.EndForeign(dir)
		if pid > 0 {
			ended++
			say(fmt.Sprintf("ended the keeper of %s (process %d), which was of another version, with its jobs", dir, pid))
		}
		err, left = errors.Join(err, oerr), append(left, some...)
	}
	if err != nil || ended == 0 {
		return cmp.Or(err, none)
	}
	if asJSON {
		err = out.WriteJSON(m.Out, shutdownResult{ShutdownDone: messages.ShutdownDone{Survivors: out.List(left)}, Running: []messages.UID{}, Escaped: []keeper.Escapee{}})
	}
	for _, s := range left {
		say(out.Sentence(out.Coded(out.SurvivorError(s))))
	}
	if err == nil && len(left) > 0 {
		return cli.ExitStatus(cli.StatusSurvivors)
	}
	return err
}

// shutdownResult is the object of shutdown. Running has the jobs that continue, Escaped the
// processes that have left their jobs and do.
type shutdownResult struct {
	messages.ShutdownDone
	Running []messages.UID   `json:"running"`
	Escaped []keeper.Escapee `json:"escaped"`
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
