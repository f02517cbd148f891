package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/daemon"
	"troupe/internal/cli/flags"
)

const serveLong = `Run the daemon. It takes requests on a socket that only its user can reach, and runs
the jobs of all clients. A state directory has one daemon. The daemon logs on stderr.

The other verbs find it at the same socket; troupe run uses it if it runs. TERM and
INT stop it, as troupe shutdown does: jobs continue if a keeper runs them.`

const serveExamples = `  troupe serve                              until troupe shutdown
  troupe serve --http 127.0.0.1:7420        also for clients with the token
  systemctl --user enable --now troupe      as a service (contrib/systemd)`

func serveCommand(m *cli.Main) *cobra.Command {
	f := &daemon.Flags{}
	cmd := &cobra.Command{
		Use: "serve [flags]", Short: "Run the daemon", Long: serveLong, Example: serveExamples, Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return daemon.Serve(m, f, cmd.Flags().Changed) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.Socket, "socket", "", "listen on the socket `PATH` (default $TROUPE_SOCKET, or below $XDG_RUNTIME_DIR)")
	set.StringVar(&f.State, "state", "", "store the state in `DIR` (default $TROUPE_STATE, or below $XDG_STATE_HOME)")
	set.StringVar(&f.HTTP, "http", "", "also listen on the loopback `ADDRESS`, for clients with the token of the state directory")
	set.StringVar(&f.Metrics, "metrics", "", "serve metrics at http://`ADDRESS`/metrics, with the same token")
	set.IntVar(&f.ReadyFD, "ready-fd", 0, "write to this descriptor that the daemon is ready, or why not")
	_ = set.MarkHidden("ready-fd") // fails only for an undefined flag
	return cmd
}
