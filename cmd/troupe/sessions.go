package main

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"troupe/client"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

func (m *Main) sessionsCommand() *cobra.Command {
	var scope string
	var recent bool
	cmd := &cobra.Command{
		Use: "sessions [flags]", Short: "List the places to run", Args: noArgs,
		Long: `List the sessions: the live shells of troupe run -s, and the places on pipes and
terminals in which each command is a process of its own. With --recent the last 100
that have ended, before the daemon began, too, the last one first.`,
	}
	cmd.Flags().StringVar(&scope, "scope", "", "only at and below the scope `PATH`")
	cmd.Flags().BoolVar(&recent, "recent", false, "those that have ended, at most 100")
	return m.daemonCommand(cmd, scoped(&scope), func(a *daemonCommand) error {
		list, err := a.ListSessions(a.ctx, messages.ListSessions{Scope: messages.ScopePath(scope), Recent: recent})
		switch {
		case err != nil:
			return err
		case a.json:
			return a.object(wire.NewSessionList(list))
		case recent:
			return m.print(endTable(list.Recent, time.Now()))
		}
		return m.print(sessionTable(list.Sessions, time.Now()))
	})
}

// sessionTable shows sessions.
func sessionTable(list []messages.SessionInfo, now time.Time) *table {
	t := &table{head: []string{"SCOPE", "SESSION", "BACKEND", "SHELL", "STATUS", "RUNNING", "QUEUED", "LEFT", "DIRECTORY"}, spare: []int{7, 6, 5, 2}}
	for _, s := range list {
		state := "busy"
		if s.Idle() {
			state = "idle"
			if !s.Used.IsZero() {
				state += " " + ago(now.Sub(s.Used))
			}
		}
		t.add(string(s.Scope), string(s.Session), s.Backend, s.Shell, state, strconv.Itoa(s.Running), strconv.Itoa(s.Queued), strconv.Itoa(s.Adopted), s.Dir)
	}
	return t
}

// shownHash is how much of a hash tells one command from another.
const shownHash = 12

// endTable shows the ends of sessions.
func endTable(list []messages.SessionEnd, now time.Time) *table {
	t := &table{head: []string{"SCOPE", "SESSION", "BACKEND", "ENDED", "REASON", "STATUS", "COMMAND"}, spare: []int{2}}
	for _, e := range list {
		code, command := "", ""
		if e.ExitCode != nil {
			code = strconv.Itoa(*e.ExitCode)
		}
		if e.Hash != "" {
			command = e.Hash[:min(shownHash, len(e.Hash))] + ", " + plural(e.Length, "byte")
		}
		t.add(string(e.Scope), string(e.Session), e.Backend, ago(now.Sub(e.At))+" ago", string(e.Reason), code, command)
	}
	return t
}

func (m *Main) closeCommand() *cobra.Command {
	var scope string
	grace := durationFlag{name: "grace", zero: true}
	cmd := &cobra.Command{
		Use: "close [flags] SESSION", Short: "Close a session, and end its jobs",
		Args: func(cmd *cobra.Command, args []string) error { return exactly(cmd, args, "SESSION") },
		Long: "Close a session: its jobs are ended, and what they left behind, and its shell, if\nit has one.", ValidArgsFunction: m.sessionNames(&scope, func(messages.SessionInfo) bool { return true }),
	}
	cmd.Flags().StringVar(&scope, "scope", "", "of the scope `PATH` (default main)")
	cmd.Flags().Var(&grace, "grace", "from TERM to KILL (default 5s)")
	check := func(a *daemonCommand) error {
		if err := messages.SessionID(a.args[0]).Check(); err != nil {
			return err
		}
		return checkScope(a, "scope", scope)
	}
	return m.daemonCommand(cmd, check, func(a *daemonCommand) error {
		f := stopFlags{grace: grace}
		closed, err := a.CloseSession(a.ctx, messages.CloseSession{
			Scope: messages.ScopePath(scope), Session: messages.SessionID(a.args[0]), Grace: f.span(), Reason: "troupe close",
		})
		if err != nil {
			return err
		}
		if a.json {
			err = a.object(wire.Closed{V: wire.Version, Reason: closed.Reason, Jobs: []messages.JobID{}, Survivors: wire.List(closed.Survivors)})
		}
		for _, s := range closed.Survivors {
			a.printError(survivorError(s))
		}
		if err == nil && len(closed.Survivors) > 0 {
			return exitStatus(statusSurvivors)
		}
		return err
	})
}

// sessionNames completes the names of sessions of a scope: those of which is true.
func (m *Main) sessionNames(scope *string, of func(messages.SessionInfo) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return m.completed(func(ctx context.Context, c *client.Client) (names []string) {
			in := messages.ScopePath(cmp.Or(*scope, string(messages.MainScope)))
			list, _ := c.Sessions(ctx, in)
			for _, s := range list {
				if s.Scope == in && of(s) {
					names = append(names, cobra.CompletionWithDesc(string(s.Session), clean(place(s))))
				}
			}
			return names
		})
	}
}

// place is what a session is, in a few words.
func place(s messages.SessionInfo) string {
	what := cmp.Or(s.Shell, s.Backend)
	if s.Dir != "" {
		what += " in " + shorten(s.Dir, completionWidth)
	}
	return what
}
