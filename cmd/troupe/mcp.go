package main

import (
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/mcpserve"
)

const mcpLong = `Serve the Model Context Protocol (MCP) on stdin and stdout for one client. The
commands of the agent run as jobs of the daemon, which is started if none runs. You
list them with troupe ps, join one with troupe attach, and move one to the background
with troupe promote. Jobs stop when the client leaves or dies, except detached and
promoted ones. See docs/mcp.md for the setup of clients.`

const mcpExamples = `  claude mcp add troupe -- troupe mcp      in Claude Code
  troupe mcp --http 127.0.0.1:7430         for many clients, with the token
  troupe mcp --no-daemon                   jobs stop with this process`

func mcpCommand(m *cli.Main) *cobra.Command {
	f := &mcpserve.Flags{}
	cmd := &cobra.Command{
		Use: "mcp [flags]", Short: "Run an MCP server for agents", Long: mcpLong, Example: mcpExamples, Args: flags.NoArgs,
		RunE: func(*cobra.Command, []string) error { return mcpserve.Serve(m, f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.Dialect, "dialect", mcpserve.CoreDialect, "`NAME` of the tool dialect: "+strings.Join(mcpserve.DialectNames, ", "))
	set.StringVar(&f.HTTP, "http", "", "serve many clients at http://`ADDRESS`/mcp, a loopback address; clients send the token")
	set.StringSliceVar(&f.Tools, "tools", nil, "`NAMES` of other tools of the host, which its model should prefer")
	set.BoolVar(&f.Keep, "keep", false, "let jobs outlive their client")
	set.BoolVar(&f.NoDaemon, "no-daemon", false, "run jobs in this process, and stop them with it")
	return cmd
}
