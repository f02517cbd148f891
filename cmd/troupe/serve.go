package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/daemon"
	"troupe/internal/cli/flags"
)

const serveLong = `Run the daemon: it takes requests on a socket that is its user's alone, and runs
the jobs of all who ask. One daemon holds a state directory. It says what it does
on stderr.

The other verbs find it at the same socket; troupe run uses it if it runs. TERM
and INT end it, as troupe shutdown does: jobs live on where they can.`

const serveExamples = `  troupe serve                              until troupe shutdown
  troupe serve --http 127.0.0.1:7420        for programs with the token, too
  systemctl --user enable --now troupe      as a service (contrib/systemd)`

func serveCommand(m *cli.Main) *cobra.Command {
	f := &daemon.Flags{}
	cmd := &cobra.Command{
		Use: "serve [flags]", Short: "Run the daemon", Long: serveLong, Example: serveExamples, Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return daemon.Serve(m, f, cmd.Flags().Changed) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.Socket, "socket", "", "listen at `PATH` (default $TROUPE_SOCKET, or below $XDG_RUNTIME_DIR)")
	set.StringVar(&f.State, "state", "", "keep the state in `DIR` (default $TROUPE_STATE, or below $XDG_STATE_HOME)")
	set.StringVar(&f.HTTP, "http", "", "listen on the loopback `ADDRESS`, too, for who has the token of the state directory")
	set.StringVar(&f.Metrics, "metrics", "", "tell numbers at http://`ADDRESS`/metrics, with the same token")
	set.IntVar(&f.ReadyFD, "ready-fd", 0, "write there that it is ready, or why not")
	_ = set.MarkHidden("ready-fd") // fails only for an undefined flag
	return cmd
}
