package main

import (
	_ "embed" // bashWords
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/mcpserve"
	"troupe/internal/cli/rpcserve"
	"troupe/internal/cli/top"
	"troupe/messages"
)

func completionCommand(m *cli.Main) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion [flags] SHELL", Short: "Print a shell completion script", ValidArgs: shells,
		Long: `Print a script that completes verbs, flags, jobs, sessions and scopes in bash, zsh,
fish or powershell. Jobs are completed by id and name, and by typed prefixes of ULIDs,
with their state and command, if the daemon answers at once.`,
		Example: `  . <(troupe completion bash)
  troupe completion zsh > "${fpath[1]}/_troupe"
  troupe completion fish > ~/.config/fish/completions/troupe.fish`,
		Args: func(cmd *cobra.Command, args []string) error { return flags.Exactly(cmd, args, "SHELL") },
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				if err := root.GenBashCompletionV2(m.Out, true); err != nil {
					return err
				}
				_, err := m.Out.WriteString(bashWords)
				return err
			case "zsh":
				return root.GenZshCompletion(m.Out)
			case "fish":
				return root.GenFishCompletion(m.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(m.Out)
			}
			e := messages.Invalid("shell", fmt.Sprintf("unsupported shell %q", args[0]))
			e.Hint = "use bash, zsh, fish or powershell"
			return e
		},
	}
}

// bashWords replaces the function with which cobra's bash script splits a line into words.
// Cobra's needs the package bash-completion and prints an error for each Tab without it.
// bash breaks words at = and :; the replacement joins them again.
//
//go:embed completion.bash
var bashWords string

// flagWords lists the values of flags that take one of a fixed set.
func flagWords() map[string][]string {
	return map[string][]string{
		"shell": {"bash", "zsh", "sh", "dash", "fish"}, "stream": {"merged", "stdout", "stderr"}, "state": states(),
		"outcome": connect.Outcomes(), "sort": sortKeys,
		"dialect": mcpserve.DialectNames,
	}
}

// flagFree lists the flags with free values, which are not completed. Flags in neither list
// complete file names.
var flagFree = []string{
	"context", "description", "detach-keys", "env", "grace", "grep", "head", "http", "idle-timeout", "key", "keys", "last", "limit", "lines", "match", "max-output", "metrics", "name",
	"offset", "older", "port", "promote-after", "quiet", "since", "tail", "timeout", "tools",
	"lock", "queue", "priority", "seed",
}

// completeFlags registers completions for the flags of a verb: fixed values, scope paths,
// directories, or nothing.
func completeFlags(m *cli.Main, verb *cobra.Command) {
	complete := map[string]cobra.CompletionFunc{"scope": connect.ScopePaths(m), "cwd": completeDirs, "dir": completeDirs, "stop-signal": signalWords}
	for name, words := range flagWords() {
		complete[name] = cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	switch verb.Name() {
	case "serve":
		complete["state"] = completeDirs
	case "events":
		complete["after"] = cobra.NoFileCompletions
	case "rpc":
		complete["dialect"] = cobra.FixedCompletions(rpcserve.DialectNames, cobra.ShellCompDirectiveNoFileComp)
	case "top":
		complete["sort"] = cobra.FixedCompletions(top.SortKeys(), cobra.ShellCompDirectiveNoFileComp)
	}
	for _, name := range flagFree {
		complete[name] = cobra.NoFileCompletions
	}
	for name, by := range complete {
		if verb.Flags().Lookup(name) != nil {
			_ = verb.RegisterFlagCompletionFunc(name, by)
		}
	}
}

func completeDirs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// oneByOne completes the n-th argument with the n-th function, and further ones with nothing.
func oneByOne(by ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(by) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return by[len(args)](cmd, args, typed)
	}
}

// signalWords completes the names of common signals.
func signalWords(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP", "TSTP", "WINCH"}, cobra.ShellCompDirectiveNoFileComp
}

// flagName matches the line of a flag in a help text.
const flagName = `(?m)^ +(?:-\w, )?--([\w-]+)`

// plainUsages removes the backquotes around value names from the usages of flags. A help
// text interprets them; cobra's completion prints them.
func plainUsages(root *cobra.Command) {
	names := regexp.MustCompile(flagName)
	for _, verb := range append(root.Commands(), root) {
		for _, m := range names.FindAllStringSubmatch(verb.Flags().FlagUsages(), -1) {
			if f := verb.Flags().Lookup(m[1]); f != nil {
				f.Usage = strings.ReplaceAll(f.Usage, "`", "")
			}
		}
	}
}
