package main

import (
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/mcpinstall"
	"troupe/internal/cli/mcpserve"
)

const mcpLong = `Run a server of the Model Context Protocol (MCP) on stdin and stdout for one client. The
commands of the agent run as jobs of the daemon, which is started if none runs. You
list them with troupe ps, join one with troupe attach, and move one to the background
with troupe promote. Jobs stop when the client leaves or dies, except detached and
promoted ones. troupe mcp install adds it to the servers of a host. docs/agents.md has the
hosts, docs/mcp.md the tools.`

const mcpExamples = `  troupe mcp install claude                in Claude Code; --help has others
  troupe mcp uninstall claude              remove it again
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
	cmd.AddCommand(
		mcpHostCommand(m, "install", "Add troupe to the MCP servers of a host", mcpInstallLong, mcpinstall.Install),
		mcpHostCommand(m, "uninstall", "Remove troupe from the MCP servers of a host", mcpUninstallLong, mcpinstall.Uninstall),
	)
	return cmd
}

const mcpInstallLong = `Add troupe to the file in which a host lists the user's MCP servers: claude, codex, opencode,
gemini, copilot, vscode or cursor. The entry has the absolute path of this program. The rest
of the file stays as it is. An entry that is there already is brought up to date.`

const mcpUninstallLong = `Remove the entry of troupe from the file in which a host lists the user's MCP servers. The
rest of the file stays as it is.`

// mcpHostCommand returns the command that edits the file of a host.
func mcpHostCommand(m *cli.Main, name, short, long string, edit func(m *cli.Main, host string, dry bool) error) *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use: name + " [flags] HOST", Short: short, Long: long, ValidArgs: mcpinstall.Names(),
		Args:                  func(cmd *cobra.Command, args []string) error { return flags.Exactly(cmd, args, "HOST") },
		RunE:                  func(_ *cobra.Command, args []string) error { return edit(m, args[0], dry) },
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the change, and write nothing")
	return cmd
}
