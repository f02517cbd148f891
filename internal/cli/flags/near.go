package flags

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leastGuessed is the length of the shortest word that is taken for a typing error: a shorter one
// resembles too many.
const leastGuessed = 5

// Near returns the word that a typed one may have meant, or "".
func Near(typed string, words []string) string {
	if len(typed) < leastGuessed {
		return ""
	}
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, word := range words {
		all.AddCommand(&cobra.Command{Use: word, Run: func(*cobra.Command, []string) {}})
	}
	if near := all.SuggestionsFor(typed); len(near) > 0 {
		return near[0]
	}
	return ""
}

// nearFlag returns the flag of a verb that a typed one may have meant, or "".
func nearFlag(cmd *cobra.Command, typed string) string {
	if flag := otherFlags[typed]; flag != "" && cmd.Flags().Lookup(flag) != nil {
		return flag
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return Near(typed, names)
}

// otherFlags maps flags of docker, tmux, systemd-run and env to those of troupe.
var otherFlags = map[string]string{
	"workdir": "cwd", "chdir": "cwd", "dir": "cwd", "working-directory": "cwd", "tty": "pty", "bg": "background", "setenv": "env", "unit": "name",
	"tail": "lines", "until": "older", "filter": "state", "kill-after": "grace", "signal": "stop-signal",
}
