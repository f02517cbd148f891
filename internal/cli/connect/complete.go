package connect

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// completed returns words from the daemon; none without a daemon, or if it is slow.
func completed(m *cli.Main, ask func(context.Context, host.Host) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completing)
	defer cancel()
	c, err := dial(ctx, m)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	return ask(ctx, c.Host()), cobra.ShellCompDirectiveNoFileComp
}

// ScopePaths completes the paths of scopes.
func ScopePaths(m *cli.Main) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return completed(m, func(ctx context.Context, h host.Host) (paths []string) {
			list, _ := host.Ask(ctx, h, messages.ListScopes{})
			for _, s := range list.Scopes {
				paths = append(paths, string(s.Path))
			}
			return paths
		})
	}
}

// SessionNames completes the names of a scope's sessions for which of returns true.
func SessionNames(m *cli.Main, scope *string, of func(messages.SessionInfo) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completed(m, func(ctx context.Context, h host.Host) (names []string) {
			in := messages.ScopePath(cmp.Or(*scope, string(messages.MainScope)))
			list, _ := host.Ask(ctx, h, messages.ListSessions{Scope: in})
			for _, s := range list.Sessions {
				if s.Scope == in && of(s) {
					names = append(names, cobra.CompletionWithDesc(string(s.Session), out.Clean(place(s))))
				}
			}
			return names
		})
	}
}

// place describes a session in a few words.
func place(s messages.SessionInfo) string {
	what := cmp.Or(s.Shell, s.Backend)
	if s.Dir != "" {
		what += " in " + out.Shorten(s.Dir, completionWidth)
	}
	if s.Idle() {
		return what + ", idle"
	}
	what += ", " + strconv.Itoa(s.Running) + " running"
	if s.Queued > 0 {
		what += ", " + strconv.Itoa(s.Queued) + " queued"
	}
	return what
}

// completing bounds the time of a completion; users do not notice it.
const completing = 150 * time.Millisecond

// JobIDs completes live jobs, and finished ones if the verb takes them: their ids and names,
// with state and command.
func JobIDs(m *cli.Main, finished bool, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completed(m, func(ctx context.Context, h host.Host) (words []string) {
			list, _ := host.Ask(ctx, h, messages.ListJobs{})
			if finished { // the list may be too long for that time
				if all, err := host.Ask(ctx, h, messages.ListJobs{Finished: true}); err == nil {
					list = all
				}
			}
			meant := map[string]messages.Record{} // by name: a live job, else the newest
			for _, job := range list.Jobs {
				if other := meant[job.Name]; other.UID == "" || other.State.Ended() || !job.State.Ended() {
					meant[job.Name] = job
				}
			}
			now := time.Now()
			for _, job := range list.Jobs {
				words = append(words, jobWords(job, typed, meant[job.Name].UID == job.UID, now)...)
			}
			return words
		})
	}
}

// jobWords returns the words for a job that begin with typed: its id, its name and its
// ULID. The name is left out if it means another job, the ULID before uidTyped characters.
func jobWords(job messages.Record, typed string, named bool, now time.Time) (words []string) {
	about := out.StatusText(job, now) + ": " + out.Clean(out.Shorten(job.Command, completionWidth))
	add := func(word, about string) {
		if word != "" && strings.HasPrefix(word, typed) {
			words = append(words, cobra.CompletionWithDesc(word, about))
		}
	}
	add(string(job.ID), about)
	if named {
		add(job.Name, string(job.ID)+" "+about)
	}
	if len(typed) >= uidTyped {
		add(string(job.UID), string(job.ID)+" "+about)
	}
	return words
}

// uidTyped is the number of typed characters from which ULIDs are offered: all ULIDs
// share the first ones.
const uidTyped = 3

// completionWidth is how many characters of a command are shown beside its id.
const completionWidth = 40
