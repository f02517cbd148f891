package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

func shutdownCommand(m *cli.Main) *cobra.Command {
	var stopJobs bool
	grace := flags.Duration{Name: "grace", Zero: true}
	cmd := &cobra.Command{
		Use: "shutdown [flags]", Short: "Stop the daemon", Args: flags.NoArgs,
		Long: `Stop the daemon. Its jobs continue if a keeper runs them. Else they would end with
it, and the daemon refuses to stop while it has jobs.`,
	}
	cmd.Flags().BoolVar(&stopJobs, "stop-jobs", false, "stop all jobs first")
	cmd.Flags().Var(&grace, "grace", "time from TERM to KILL (default each job's own)")
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		f := stopFlags{grace: grace}
		about, err := a.Version(a.Ctx)
		if err != nil {
			return err
		}
		ended := connect.WaitForExit(about.PID)
		left, err := a.ShutDown(a.Ctx, messages.ShutdownNode{KeepJobs: !stopJobs, Grace: f.span(), Reason: "troupe shutdown"})
		if err != nil {
			return err
		}
		ended() // returns when the socket and the state directory are free for a new daemon
		if a.JSON {
			err = a.Object(wire.ShutdownResult{V: wire.Version, Survivors: wire.List(left)})
		}
		for _, s := range left {
			a.PrintError(out.SurvivorError(s))
		}
		if err == nil && len(left) > 0 {
			return cli.ExitStatus(cli.StatusSurvivors)
		}
		return err
	})
}
