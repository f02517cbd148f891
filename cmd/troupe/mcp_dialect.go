package main

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

	"troupe/dialects"
	"troupe/gateways/mcp"
	"troupe/messages"
	"troupe/spill/artifact"
)

// coreDialect is troupe's own: its tools are those of the gateway.
const coreDialect = "core"

// dialectNames are those of --dialect.
var dialectNames = []string{coreDialect, "omp", "opencode", "copilot"}

// checkDialect refuses what is no dialect.
func checkDialect(name string) error {
	if slices.Contains(dialectNames, name) {
		return nil
	}
	return messages.Invalid("dialect", "there is no dialect "+name+"; use one of "+strings.Join(dialectNames, ", "))
}

// speaker makes the sessions of a dialect.
type speaker struct {
	host dialects.Host
	at   *settings
	dir  string   // in which troupe mcp was started
	home string   // what ~ means
	env  []string // of troupe mcp
	beside,
	pass []string
	quota messages.Quota
	log   *slog.Logger
}

// sessionsPrefix begins the names of the directories of sessions, in the directory that
// each user has for what is temporary.
const sessionsPrefix = "mcp-"

// sessionsDir is where the files of sessions are.
func sessionsDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("troupe-%d", unix.Geteuid()), "sessions")
}

// mcpDialect is the dialect that clients of troupe mcp speak; nil: the core's.
func (m *Main) mcpDialect(f *mcpFlags, at *settings, host dialects.Host, dir string, log *slog.Logger) (*mcp.Dialect, error) {
	if f.dialect == coreDialect {
		return nil, nil //nolint:nilnil // it is none
	}
	home, _ := m.getenv("HOME")
	s := &speaker{
		host: host, at: at, dir: dir, home: home, env: m.Env, beside: f.tools, pass: at.MCP.Env, log: log,
		quota: messages.Quota{Bytes: int64(at.MCP.Output)},
	}
	if _, err := artifact.Sweep(sessionsDir(), sessionsPrefix, nil); err != nil {
		log.Warn("files of sessions that have ended stay", "error", err)
	}
	switch f.dialect {
	case "opencode":
		return s.opencode()
	case "copilot":
		return s.copilot()
	}
	return s.omp()
}

// files are those of the session of one client.
func (s *speaker) files(name string) (*artifact.Dir, error) {
	return artifact.NewDir(sessionsDir(), sessionsPrefix+name)
}

// closing ends several things in their order.
type closing struct {
	mcp.Session
	ends []func(context.Context) error
}

// Close implements mcp.Session.
func (c closing) Close(ctx context.Context) error {
	var errs []error
	for _, end := range c.ends {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
