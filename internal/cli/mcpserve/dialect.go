package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/internal/artifact"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/gateway/mcp"
	"troupe/messages"
)

// CoreDialect is troupe's own dialect, with the tools of the gateway.
const CoreDialect = "core"

// DialectNames lists the values of --dialect.
var DialectNames = []string{CoreDialect, "omp", "opencode", "copilot"}

// checkDialect rejects an unknown dialect.
func checkDialect(name string) error {
	if slices.Contains(DialectNames, name) {
		return nil
	}
	return messages.Invalid("dialect", "invalid dialect "+name+": use one of "+strings.Join(DialectNames, ", "))
}

// dialectFactory creates the sessions of a dialect.
type dialectFactory struct {
	at   *config.Settings
	dir  string   // working directory of troupe mcp
	home string   // $HOME, for ~; "" if unset
	env  []string // environment of troupe mcp
	beside,
	pass []string
	quota  messages.Quota
	prefix string // begins each command text without a daemon, which adds it itself; "": none
	log    *slog.Logger
}

// sessionsPrefix begins the name of each session's directory in sessionsDir.
const sessionsPrefix = "mcp-"

// sessionsDir returns the user's directory for files of sessions: in the temporary
// directory or, if another user has taken its name there, in the state directory.
func sessionsDir(at *config.Settings) string {
	own := filepath.Join(os.TempDir(), fmt.Sprintf("troupe-%d", unix.Geteuid()))
	if config.IsTaken(own) && at.State != "" {
		own = at.State
	}
	return filepath.Join(own, "sessions")
}

// checkSettings checks the settings of a dialect. It starts no process, so invalid settings are
// reported first.
func checkSettings(m *cli.Main, dialect string, at *config.Settings) error {
	check := &settingsChecker{file: at.File(), text: at.Text(), env: m.Env}
	check.mcp(at.MCP)
	switch dialect {
	case "omp":
		check.omp(&at.OMP)
	case "opencode":
		check.opencode(&at.OpenCode)
	case "copilot":
		check.copilot(&at.Copilot)
	}
	return check.err
}

// newDialect returns the dialect of the clients; nil for the core's. It also removes files of
// ended sessions.
func newDialect(m *cli.Main, f *Flags, at *config.Settings, dir string, log *slog.Logger) (*mcp.Dialect, error) {
	if f.Dialect == CoreDialect {
		return nil, nil
	}
	home, _ := m.Getenv("HOME")
	s := &dialectFactory{
		at: at, dir: dir, home: home, env: m.Env, beside: f.Tools, pass: at.MCP.Env, log: log,
		quota: messages.Quota{Bytes: int64(at.MCP.Output)},
	}
	if f.NoDaemon {
		s.prefix = at.Prefix
	}
	if _, err := artifact.Sweep(sessionsDir(at), sessionsPrefix, nil); err != nil {
		log.Warn("cannot remove the files of ended sessions", "error", err)
	}
	switch f.Dialect {
	case "opencode":
		return s.opencode()
	case "copilot":
		return s.copilot()
	}
	return s.omp()
}

// files returns the directory of a session's files. If it cannot be created, it returns nil:
// long outputs are cut.
func (s *dialectFactory) files(name string) *artifact.Dir {
	dir, err := artifact.NewDir(sessionsDir(s.at), sessionsPrefix+name)
	if err != nil {
		s.log.Warn("cannot save long outputs of a session to files", "session", name, "error", err)
	}
	return dir
}

// closers is a session with functions that Close calls in order.
type closers struct {
	mcp.Session
	files *artifact.Store // nil: none
	ends  []func(context.Context) error
}

// Artifact implements mcp.Artifacts.
func (c closers) Artifact(id string) (string, error) {
	if c.files == nil {
		return "", artifact.ErrNoDirectory
	}
	return c.files.Find(id)
}

// Close implements mcp.Session.
func (c closers) Close(ctx context.Context) error {
	var errs []error
	for _, end := range c.ends {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
