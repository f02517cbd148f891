package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

func scopesCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{Use: "scopes [flags] [PATH]", Short: "List scopes and their quotas", ValidArgsFunction: oneByOne(connect.ScopePaths(m)), Args: func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return flags.Exactly(cmd, args, "PATH")
	}}
	at := ""
	check := func(a *connect.Command) error {
		if len(a.Args) == 0 {
			return nil
		}
		at = a.Args[0]
		return connect.CheckScope(a, "", at)
	}
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error {
		list, err := host.Ask(a.Ctx, a.Host(), messages.ListScopes{Path: messages.ScopePath(at)})
		if err != nil {
			return err
		}
		t := &out.Table{Head: []string{"SCOPE", "JOBS", "SESSIONS", "QUOTA"}}
		for _, s := range list.Scopes {
			t.Add(string(s.Path), strconv.Itoa(s.Jobs), strconv.Itoa(s.Sessions), quotaText(s.Quota))
		}
		if a.JSON {
			list.Scopes = out.List(list.Scopes)
			return a.Object(list)
		}
		return out.PrintTable(m, t)
	})
}

func quotaText(q messages.ScopeQuota) string {
	var parts []string
	if q.Jobs > 0 {
		parts = append(parts, out.Plural(q.Jobs, "job"))
	}
	if q.Sessions > 0 {
		parts = append(parts, out.Plural(q.Sessions, "session"))
	}
	return strings.Join(parts, ", ")
}
