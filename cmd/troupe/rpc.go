package main

import (
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/rpcserve"
)

const rpcLong = `Run a server for a host that speaks the protocol of its own agent system on stdin and stdout:
codelia (JSON-RPC), pi (JSON lines) or omp (the Agent Client Protocol). The commands run as jobs
of the daemon, which is started if none runs. Jobs stop when the client leaves or dies. At the
end of its input the server answers the requests that run, and exits. docs/rpc.md has the
requests of each.`

const rpcExamples = `  troupe rpc --dialect codelia             JSON-RPC, one request a line
  troupe rpc --dialect codelia --listen /run/user/1000/rpc
                                           for many clients
  troupe rpc --dialect pi                  what pi --mode rpc does with bash
  troupe rpc --dialect omp                 for editors: a prompt is a command`

func rpcCommand(m *cli.Main) *cobra.Command {
	f := &rpcserve.Flags{}
	cmd := &cobra.Command{
		Use: "rpc [flags]", Short: "Run an RPC server for a host", Long: rpcLong, Example: rpcExamples, Args: flags.NoArgs,
		RunE: func(*cobra.Command, []string) error { return rpcserve.Serve(m, f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.Dialect, "dialect", "", "`NAME` of the protocol: "+strings.Join(rpcserve.DialectNames, ", "))
	set.StringVar(&f.Listen, "listen", "", "serve many clients at the Unix socket `PATH`")
	set.BoolVar(&f.NoDaemon, "no-daemon", false, "run jobs in this process, and stop them with it")
	set.StringVar(&f.Mode, "mode", "", "`MODE` that clients of pi and omp ask for: rpc")
	_ = set.MarkHidden("mode") // fails only for an undefined flag
	return cmd
}
