package mcpserve

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"troupe/backends/disk"
	"troupe/internal/artifact"
	"troupe/internal/cli/dialectconfig"
	"troupe/internal/dialect/copilot"
	"troupe/internal/dialect/opencode"
	"troupe/internal/gateway/mcp"
	"troupe/internal/shelltext"
)

// copilot builds the dialect of Copilot CLI: bash or powershell, and tools to read, write, stop
// and list.
func (s *dialectFactory) copilot() (*mcp.Dialect, error) {
	c := s.at.Copilot
	shell := copilot.Bash(c.Profile)
	if c.Shell == dialectconfig.CopilotPowerShell {
		shell = copilot.PowerShell()
	}
	settings := copilot.Settings{
		Shell: shell, SpawnBackend: c.Process, NoNotifications: c.Quiet, InitialWait: c.InitialWait.Duration,
		DetachedDir: c.DetachedLogs, DetachedName: c.DetachedNames, PassEnv: s.pass, Quota: s.quota,
	}
	protected := shelltext.Protected{Self: os.Getpid(), Ancestors: ancestors()}
	return &mcp.Dialect{
		Tools: copilot.New(copilot.Options{Settings: settings, Env: s.env}).Tools(),
		Open: func(at mcp.Place) (mcp.Session, error) {
			var session *copilot.Session
			session = copilot.New(copilot.Options{
				Host: at.Host, Beside: at.Beside, Scope: at.Scope, Dir: s.dir, Env: s.env, SessionID: at.Name, Settings: settings, Files: s.files.Open(at.Name),
				Protected: protected, Log: s.log, Notify: func(n copilot.Notice) {
					at.Tell(n.Text, func() bool { return session.Heard(n.ShellID) })
				},
			})
			return session, nil
		},
	}, nil
}

// maxAncestors bounds the search for ancestors; a longer chain would be a cycle.
const maxAncestors = 64

// ancestors returns the pids of the parent, its parent and so on, as far as /proc shows them.
func ancestors() []int {
	all := []int{os.Getppid()}
	for len(all) < maxAncestors {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", all[len(all)-1]))
		if err != nil {
			break
		}
		_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		fields := bytes.Fields(rest) // state, parent, …
		if len(fields) < 2 {
			break
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil || parent < 1 {
			break
		}
		all = append(all, parent)
	}
	return all
}

// opencode builds the dialect of opencode: bash and view.
func (s *dialectFactory) opencode() (*mcp.Dialect, error) {
	c := s.at.OpenCode
	settings := opencode.Settings{
		TruncatedHeadLines: int(c.HeadLines), TruncatedTailLines: int(c.TailLines), Banned: c.Banned, TempDir: c.TempDir,
		Background: c.Background, DataDir: c.DataDir, ShellPath: c.Shell, PassEnv: s.pass,
		NoFiles: c.Files != nil && !*c.Files, PlainNumbers: c.Plain, GapMarker: c.Gap,
	}
	if kept := s.quota.Bytes; kept > 0 {
		settings.MaxPersistBytes = min(kept, artifact.PersistBytes)
	}
	return &mcp.Dialect{
		Tools: opencode.New(opencode.Options{Settings: settings, SessionID: "none"}).Tools(),
		Open: func(at mcp.Place) (mcp.Session, error) {
			return opencode.New(opencode.Options{
				Host: at.Host, Beside: at.Beside, Scope: at.Scope, Dir: s.dir, Env: s.env, SessionID: at.Name, Settings: settings,
				FS: disk.Files{}, Log: s.log, Notify: func(n opencode.Notice) { at.Tell(n.Text, nil) },
			}), nil
		},
	}, nil
}
