package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/internal/cli"
	"troupe/internal/cli/daemon"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/units"
	"troupe/messages"
)

const serveLong = `Run the daemon. It takes requests on a socket that only its user can reach, and runs
the jobs of all clients. A state directory has one daemon. The daemon logs on stderr.

The other verbs find it at the same socket; troupe run uses it if it runs. TERM and
INT stop it, as troupe shutdown does: jobs continue if a keeper runs them.

--install makes it a service of systemd --user, which runs the next daemon by itself.`

const serveExamples = `  troupe serve                              until troupe shutdown
  troupe serve --http 127.0.0.1:7420        also for clients with the token
  troupe serve --install                    as a service of systemd --user`

func serveCommand(m *cli.Main) *cobra.Command {
	f := &daemon.Flags{}
	var detach, install, uninstall bool
	cmd := &cobra.Command{
		Use: "serve [flags]", Short: "Run the daemon", Long: serveLong, Example: serveExamples, Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if detach {
				return daemon.Detach(m, f)
			}
			if !install && !uninstall {
				return daemon.Serve(m, f, cmd.Flags().Changed)
			}
			if err := alone(cmd); err != nil {
				return err
			}
			if install {
				return units.Install(m)
			}
			return units.Uninstall(m)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.Socket, "socket", "", "listen on the socket `PATH` (default $TROUPE_SOCKET, or below $XDG_RUNTIME_DIR)")
	set.StringVar(&f.State, "state", "", "store the state in `DIR` (default $TROUPE_STATE, or below $XDG_STATE_HOME)")
	set.StringVar(&f.HTTP, "http", "", "also listen on the loopback `ADDRESS`, for clients with the token of the state directory")
	set.StringVar(&f.Metrics, "metrics", "", "serve metrics at http://`ADDRESS`/metrics, with the same token")
	set.StringVar(&f.Faults, "faults", "", "let the faults of `PLAN` happen: a file, or a name that troupe chaos --list shows")
	set.BoolVar(&install, "install", false, "write the units of systemd --user for this program, and print what to run next")
	set.BoolVar(&uninstall, "uninstall", false, "stop that service, and remove its units; jobs continue")
	set.IntVar(&f.ReadyFD, "ready-fd", 0, "write to this descriptor that the daemon is ready, or why not")
	set.DurationVar(&f.IdleExit, "idle-exit", 0, "end when nothing was held for so long: a client has started it")
	set.BoolVar(&detach, "detach", false, "start the daemon outside of the process tree of who starts it, and return")
	for _, ours := range []string{"ready-fd", "idle-exit", "detach"} { // set by the client that starts it
		_ = set.MarkHidden(ours) // fails only for an undefined flag
	}
	return cmd
}

// alone rejects flags beside --install or --uninstall.
func alone(cmd *cobra.Command) error {
	var given []string
	cmd.Flags().Visit(func(f *pflag.Flag) { given = append(given, "--"+f.Name) })
	if len(given) < 2 {
		return nil
	}
	err := messages.Invalid("flags", strings.Join(given, " and ")+" contradict each other")
	err.Hint = "a service takes its settings from the configuration file"
	return err
}
