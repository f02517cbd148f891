package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"troupe/client"
	"troupe/messages"
)

// sessionNames completes the names of sessions of a scope: those of which is true.
func sessionNames(m *Main, scope *string, of func(messages.SessionInfo) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completed(m, func(ctx context.Context, c *client.Client) (names []string) {
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
