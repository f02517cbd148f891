package main

import (
	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

func closeCommand(m *cli.Main) *cobra.Command {
	var scope string
	grace := flags.Duration{Name: "grace", Zero: true}
	cmd := &cobra.Command{
		Use: "close [flags] SESSION", Short: "Close a session and stop its jobs",
		Args: func(cmd *cobra.Command, args []string) error { return flags.Exactly(cmd, args, "SESSION") },
		Long: "Close a session: stop its jobs, their leftover processes and its live shell, if it\nhas one.", ValidArgsFunction: connect.SessionNames(m, &scope, func(messages.SessionInfo) bool { return true }),
	}
	cmd.Flags().StringVar(&scope, "scope", "", "scope `PATH` of the session (default main)")
	cmd.Flags().Var(&grace, "grace", "time from TERM to KILL (default 5s)")
	check := func(a *connect.Command) error {
		if err := messages.SessionID(a.Args[0]).Check(); err != nil {
			return err
		}
		return connect.CheckScope(a, "scope", scope)
	}
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error {
		f := stopFlags{grace: grace}
		closed, err := host.Ask(a.Ctx, a.Host(), messages.CloseSession{
			Scope: messages.ScopePath(scope), Session: messages.SessionID(a.Args[0]), Grace: f.span(), Reason: "troupe close",
		})
		if err != nil {
			return err
		}
		object := messages.ScopeClosed{Reason: closed.Reason, Jobs: []messages.JobID{}, Survivors: out.List(closed.Survivors)}
		return a.Stopped(object, connect.Failures{}, closed.Survivors)
	})
}
