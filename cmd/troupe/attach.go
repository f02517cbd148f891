package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/attach"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/terminal"
)

func attachCommand(m *cli.Main) *cobra.Command {
	f := &attach.Flags{}
	cmd := &cobra.Command{
		Use: "attach [flags] JOB", Short: "Connect this terminal to a running job", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, false, 1),
		Long: `Connect this terminal to a running job: print its new output (stderr on stderr if
the streams are separate) and send it the typed input. One client has the input lease
and types; the others watch. The detach keys leave the job running.

A job on a terminal gets each key, Ctrl-C too, and the size of this terminal; --watch
shows its output unchanged. A job on pipes gets typed lines: Ctrl-C sends it INT,
Ctrl-D closes its input.`,
		Annotations: map[string]string{flags.HelpEnd: "Exit status: that of the job, as with troupe run; 0 after the detach keys."},
	}
	set := cmd.Flags()
	set.BoolVar(&f.Watch, "watch", false, "watch without typing")
	set.BoolVar(&f.Take, "take", false, "take the input lease from another client")
	set.StringVar(&f.Keys, "detach-keys", terminal.DetachKeys, "`KEYS` that leave the job running")
	connect.InScope(cmd, 1)
	cmd = connect.NewCommand(m, cmd, f.Check, func(a *connect.Command) error {
		if !f.Watch { // input must reach the job even without a stdout reader
			return attach.Attach(a, f)
		}
		return a.UntilReaderGone(func() error { return attach.Attach(a, f) })
	})
	_ = set.MarkHidden("json") // attach prints no object
	return cmd
}
