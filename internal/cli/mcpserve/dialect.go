package mcpserve

import (
	"log/slog"
	"slices"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/dialecthost"
	"troupe/internal/gateway/mcp"
	"troupe/messages"
)

// CoreDialect is troupe's own dialect, with the tools of the gateway.
const CoreDialect = "core"

// DialectNames lists the values of --dialect.
var DialectNames = []string{CoreDialect, "omp", "opencode", "copilot", "codelia"}

// checkDialect rejects an unknown dialect.
func checkDialect(name string) error {
	if slices.Contains(DialectNames, name) {
		return nil
	}
	return messages.Invalid("dialect", "invalid dialect "+name+": use one of "+strings.Join(DialectNames, ", "))
}

// dialectFactory creates the sessions of a dialect.
type dialectFactory struct {
	at    *config.Settings
	dir   string             // working directory of troupe mcp
	scope messages.ScopePath // parent of the clients' scopes
	home  string             // $HOME, for ~; "" if unset
	env   []string           // environment of troupe mcp
	beside,
	pass []string
	quota    messages.Quota
	files    dialecthost.SessionFiles
	noDaemon bool // jobs run in this process
	log      *slog.Logger
}

// newDialect returns the dialect of the clients; nil for the core's. It also removes files of
// ended sessions.
func newDialect(m *cli.Main, f *Flags, at *config.Settings, dir string, log *slog.Logger) (*mcp.Dialect, error) {
	if f.Dialect == CoreDialect {
		return nil, nil
	}
	home, _ := m.Getenv("HOME")
	s := &dialectFactory{
		at: at, dir: dir, scope: dialecthost.Scope(m, "mcp"), home: home, env: m.Env, beside: f.Tools, pass: at.MCP.Env, log: log, files: dialecthost.NewSessionFiles(at, "mcp-", log),
		quota: messages.Quota{Bytes: int64(at.MCP.Output)}, noDaemon: f.NoDaemon,
	}
	switch f.Dialect {
	case "opencode":
		return s.opencode()
	case "copilot":
		return s.copilot()
	case "codelia":
		return s.codelia()
	}
	return s.omp()
}
