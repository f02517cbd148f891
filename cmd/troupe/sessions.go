package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

func sessionsCommand(m *cli.Main) *cobra.Command {
	var scope string
	var recent bool
	cmd := &cobra.Command{
		Use: "sessions [flags]", Short: "List sessions", Args: flags.NoArgs,
		Long: `List the sessions: live shells of troupe run -s, and sessions on pipes and terminals,
which run each command as a separate process. With --recent, list the last 100 that
ended, newest first, also from before the daemon started.`,
	}
	cmd.Flags().StringVar(&scope, "scope", "", "only sessions at and below the scope `PATH`")
	cmd.Flags().BoolVar(&recent, "recent", false, "list the last 100 sessions that have ended")
	return connect.NewCommand(m, cmd, connect.Scoped(&scope), func(a *connect.Command) error {
		list, err := host.Ask(a.Ctx, a.Host(), messages.ListSessions{Scope: messages.ScopePath(scope), Recent: recent})
		switch {
		case err != nil:
			return err
		case a.JSON:
			list.Sessions, list.Recent = out.List(list.Sessions), out.List(list.Recent)
			return a.Object(list)
		case recent:
			return out.PrintTable(m, endTable(list.Recent, time.Now()))
		}
		return out.PrintTable(m, sessionTable(list.Sessions, time.Now()))
	})
}

// sessionTable lists sessions.
func sessionTable(list []messages.SessionInfo, now time.Time) *out.Table {
	t := &out.Table{Head: []string{"SCOPE", "SESSION", "BACKEND", "SHELL", "STATUS", "RUNNING", "QUEUED", "LEFTOVERS", "DIRECTORY"}, Spare: []int{7, 6, 5, 2}}
	for _, s := range list {
		state := "busy"
		if s.Idle() {
			state = "idle"
			if !s.Used.IsZero() {
				state += " " + out.Ago(now.Sub(s.Used))
			}
		}
		t.Add(string(s.Scope), string(s.Session), s.Backend, s.Shell, state, strconv.Itoa(s.Running), strconv.Itoa(s.Queued), strconv.Itoa(s.Adopted), s.Dir)
	}
	return t
}

// shownHash is the number of hash characters that distinguish commands.
const shownHash = 12

// endTable lists the ends of sessions.
func endTable(list []messages.SessionEnd, now time.Time) *out.Table {
	t := &out.Table{Head: []string{"SCOPE", "SESSION", "BACKEND", "ENDED", "REASON", "STATUS", "COMMAND"}, Spare: []int{2}}
	for _, e := range list {
		code, command := "", ""
		if e.ExitCode != nil {
			code = strconv.Itoa(*e.ExitCode)
		}
		if e.Hash != "" {
			command = e.Hash[:min(shownHash, len(e.Hash))] + ", " + out.Plural(e.Length, "byte")
		}
		t.Add(string(e.Scope), string(e.Session), e.Backend, out.Ago(now.Sub(e.At))+" ago", string(e.Reason), code, command)
	}
	return t
}
