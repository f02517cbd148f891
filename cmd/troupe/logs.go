package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/logs"
)

func logsCommand(m *cli.Main) *cobra.Command {
	f := &logs.Flags{}
	cmd := &cobra.Command{
		Use: "logs [flags] JOB", Short: "Print the output of a job", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, true, 1),
		Long: `Print the output of a job: all of it, or the lines that the flags select. Separate
streams go to stdout and stderr, in output order. On a terminal, control sequences
other than colours are left out; elsewhere every byte passes unchanged.`,
		Example: `  troupe logs -f -n 20 j7                 the last 20 lines, then new output
  troupe logs --offset 1000 --limit 50 j7`,
	}
	set := cmd.Flags()
	set.BoolVarP(&f.Follow, "follow", "f", false, "follow new output until no process can write any more")
	set.VarP(&flags.LineNumber{Name: "lines", N: &f.Lines}, "lines", "n", "only the last `N` lines; with -f, 0 means only new output")
	set.StringVar(&f.Stream, "stream", "", "only the stream `S`: merged, stdout or stderr")
	set.Var(&flags.LineNumber{Name: "offset", N: &f.Offset}, "offset", "start at line `N`; the first is 1")
	set.Var(&flags.LineNumber{Name: "limit", N: &f.Limit}, "limit", "print at most `N` lines")
	set.Var(&flags.LineNumber{Name: "head", N: &f.First}, "head", "only the first `N` lines")
	set.StringVar(&f.SinceText, "since", "", "only output of the last `D` (10m), or since a time (RFC 3339, or as troupe show prints it)")
	set.BoolVar(&f.Raw, "raw", false, "keep control sequences on a terminal")
	connect.ByPIDFile(cmd)
	check := func(a *connect.Command) error { return f.Check(a.Cmd.Flags().Changed, a.JSON) }
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error {
		if !f.Follow {
			return logs.Print(a, f)
		}
		return a.UntilReaderGone(func() error { return logs.Print(a, f) })
	})
}
