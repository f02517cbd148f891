package flags

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/internal/near"
)

// nearFlag returns the flag of a verb that a typed one may have meant, or "".
func nearFlag(cmd *cobra.Command, typed string) string {
	if flag := otherFlags()[typed]; flag != "" && cmd.Flags().Lookup(flag) != nil {
		return flag
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return near.Word(typed, names)
}

// otherFlags maps flags of docker, tmux, systemd-run and env to those of troupe.
func otherFlags() map[string]string {
	return map[string]string{
		"workdir": "cwd", "chdir": "cwd", "dir": "cwd", "working-directory": "cwd", "tty": "pty", "bg": "background", "setenv": "env", "unit": "name",
		"tail": "lines", "until": "older", "filter": "state", "kill-after": "grace", "signal": "stop-signal",
	}
}
