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

// CoreDialect is troupe's own: its tools are those of the gateway.
const CoreDialect = "core"

// DialectNames are those of --dialect.
var DialectNames = []string{CoreDialect, "omp", "opencode", "copilot"}

// checkDialect refuses what is no dialect.
func checkDialect(name string) error {
	if slices.Contains(DialectNames, name) {
		return nil
	}
	return messages.Invalid("dialect", "there is no dialect "+name+"; use one of "+strings.Join(DialectNames, ", "))
}

// dialectFactory makes the sessions of a dialect.
type dialectFactory struct {
	at   *config.Settings
	dir  string   // in which troupe mcp was started
	home string   // what ~ means
	env  []string // of troupe mcp
	beside,
	pass []string
	quota  messages.Quota
	prefix string // of each command text, where no daemon puts one there; "": none
	log    *slog.Logger
}

// sessionsPrefix begins the names of the directories of sessions, in the directory that
// each user has for what is temporary.
const sessionsPrefix = "mcp-"

// sessionsDir is where the files of sessions are.
func sessionsDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("troupe-%d", unix.Geteuid()), "sessions")
}

// newDialect is the dialect that clients of troupe mcp speak; nil: the core's. It starts
// nothing, so that settings that cannot be are told before anything is there.
func newDialect(m *cli.Main, f *Flags, at *config.Settings, dir string, log *slog.Logger) (*mcp.Dialect, error) {
	check := &settingsChecker{file: at.File(), text: at.Text(), env: m.Env}
	check.mcp(at.MCP)
	switch f.Dialect {
	case CoreDialect:
		return nil, check.err
	case "omp":
		check.omp(&at.OMP)
	case "opencode":
		check.opencode(&at.OpenCode)
	case "copilot":
		check.copilot(&at.Copilot)
	}
	if check.err != nil {
		return nil, check.err
	}
	home, _ := m.Getenv("HOME")
	s := &dialectFactory{
		at: at, dir: dir, home: home, env: m.Env, beside: f.Tools, pass: at.MCP.Env, log: log,
		quota: messages.Quota{Bytes: int64(at.MCP.Output)},
	}
	if f.NoDaemon {
		s.prefix = at.Prefix
	}
	if _, err := artifact.Sweep(sessionsDir(), sessionsPrefix, nil); err != nil {
		log.Warn("files of sessions that have ended stay", "error", err)
	}
	switch f.Dialect {
	case "opencode":
		return s.opencode()
	case "copilot":
		return s.copilot()
	}
	return s.omp()
}

// files are those of the session of one client; nil: there is no place for them, and its
// long outputs are cut.
func (s *dialectFactory) files(name string) *artifact.Dir {
	dir, err := artifact.NewDir(sessionsDir(), sessionsPrefix+name)
	if err != nil {
		s.log.Warn("long outputs of a session have no files", "session", name, "error", err)
	}
	return dir
}

// closers ends several things in their order.
type closers struct {
	mcp.Session
	ends []func(context.Context) error
}

// Close implements mcp.Session.
func (c closers) Close(ctx context.Context) error {
	var errs []error
	for _, end := range c.ends {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
