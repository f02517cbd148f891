package connect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// completed asks the daemon for words. Without one, or if it is slow, there are none.
func completed(m *cli.Main, ask func(context.Context, *client.Client) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completing)
	defer cancel()
	c, err := dial(ctx, m)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	return ask(ctx, c), cobra.ShellCompDirectiveNoFileComp
}

// ScopePaths completes the owners of jobs.
func ScopePaths(m *cli.Main) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return completed(m, func(ctx context.Context, c *client.Client) (paths []string) {
			list, _ := c.Scopes(ctx, "")
			for _, s := range list {
				paths = append(paths, string(s.Path))
			}
			return paths
		})
	}
}

// SessionNames completes the names of sessions of a scope: those of which is true.
func SessionNames(m *cli.Main, scope *string, of func(messages.SessionInfo) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completed(m, func(ctx context.Context, c *client.Client) (names []string) {
			in := messages.ScopePath(cmp.Or(*scope, string(messages.MainScope)))
			list, _ := c.Sessions(ctx, in)
			for _, s := range list {
				if s.Scope == in && of(s) {
					names = append(names, cobra.CompletionWithDesc(string(s.Session), out.Clean(place(s))))
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
		what += " in " + out.Shorten(s.Dir, completionWidth)
	}
	return what
}

// completing is how long a shell waits for the ids of jobs: nobody notices it.
const completing = 150 * time.Millisecond

// JobIDs completes the jobs that live, and finished ones where a verb is for those: by
// their ids or, once something is typed, by whatever of theirs begins so.
func JobIDs(m *cli.Main, finished bool, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completed(m, func(ctx context.Context, c *client.Client) (words []string) {
			list, _ := c.Jobs(ctx, messages.ListJobs{})
			if finished { // of which there may be more than are told in that time
				if all, err := c.Jobs(ctx, messages.ListJobs{Finished: true}); err == nil {
					list = all
				}
			}
			named := map[string]bool{}
			for _, job := range slices.Backward(list.Jobs) { // of one name the youngest is meant
				words = append(words, jobWords(job, typed, named)...)
			}
			slices.Reverse(words)
			return words
		})
	}
}

// jobWords are the words for a job that begin as what is typed: its id, its name unless a
// younger one has it, and its ULID where that is typed.
func jobWords(job messages.Job, typed string, named map[string]bool) (words []string) {
	about := out.Clean(out.Shorten(job.Command, completionWidth))
	name, uid := job.Name, string(job.UID)
	if typed == "" || named[name] {
		name = ""
	}
	named[job.Name] = true
	if len(typed) < uidTyped {
		uid = ""
	}
	for _, word := range []string{uid, name, string(job.ID)} {
		if word != "" && strings.HasPrefix(word, typed) {
			words = append(words, cobra.CompletionWithDesc(word, about))
		}
	}
	return words
}

// uidTyped is how much is typed of a ULID by who means one: less is that of any job.
const uidTyped = 3

// completionWidth is how much of a command is shown beside its id.
const completionWidth = 40
