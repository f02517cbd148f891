package main

import (
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/mcpserve"
)

const mcpLong = `Serve the Model Context Protocol on stdin and stdout, for one client: an agent runs
its commands as jobs of the daemon, which is started if none runs. A person sees
them with troupe ps, joins them with troupe attach, and lets the agent go on without
waiting with troupe promote. They end when the client leaves or dies, but for those
that were detached or that a person promoted. docs/mcp.md has what clients need.`

const mcpExamples = `  claude mcp add troupe -- troupe mcp      in Claude Code
  troupe mcp --http 127.0.0.1:7430         for many clients, with the token
  troupe mcp --no-daemon                   jobs end with this process`

func mcpCommand(m *cli.Main) *cobra.Command {
	f := &mcpserve.Flags{}
	cmd := &cobra.Command{
		Use: "mcp [flags]", Short: "Serve agents (MCP)", Long: mcpLong, Example: mcpExamples, Args: flags.NoArgs,
		RunE: func(*cobra.Command, []string) error { return mcpserve.Serve(m, f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.Dialect, "dialect", mcpserve.CoreDialect, "the `NAME` of the tools' dialect: "+strings.Join(mcpserve.DialectNames, ", "))
	set.StringVar(&f.HTTP, "http", "", "serve many clients at http://`ADDRESS`/mcp, a loopback address, for who has the token")
	set.StringSliceVar(&f.Tools, "tools", nil, "the `NAMES` of tools that the host has beside these, which its model is to prefer")
	set.BoolVar(&f.Keep, "keep", false, "jobs outlive their client")
	set.BoolVar(&f.NoDaemon, "no-daemon", false, "run jobs in this process, and end them with it")
	return cmd
}
