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
		Use: "attach [flags] JOB", Short: "Sit at a job: see what it prints, and type", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, false, 1),
		Long: `Show what a job prints from now on (where the streams are apart, stderr on stderr), and
pass on what is typed. One of those attached may type; the others watch. The detach
keys leave it as it is.

At a job on a terminal each key goes to it, Ctrl-C too, and its terminal gets the size
of ours; who watches at a terminal sees it as it is. At one on pipes lines are passed
on: Ctrl-C is sent to the job as INT, Ctrl-D ends its input.`,
		Annotations: map[string]string{flags.HelpEnd: "Exit status: the job's own, as of troupe run; 0 when it was left."},
	}
	set := cmd.Flags()
	set.BoolVar(&f.Watch, "watch", false, "only watch")
	set.BoolVar(&f.Take, "take", false, "type, even if somebody else does: he is told")
	set.StringVar(&f.Keys, "detach-keys", terminal.DetachKeys, "the `KEYS` that leave it")
	cmd = connect.NewCommand(m, cmd, f.Check, func(a *connect.Command) error {
		if !f.Watch { // input must reach the job even without a stdout reader
			return attach.Attach(a, f)
		}
		return a.UntilReaderGone(func() error { return attach.Attach(a, f) })
	})
	_ = set.MarkHidden("json") // attach prints no object
	return cmd
}
