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
		Use: "logs [flags] JOB", Short: "Show what a job has printed", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, true, 1),
		Long: `Show what a job has printed: all of it, or the lines that the flags name. Where the
streams are apart, stderr goes to stderr, in the order in which both came. On a terminal, what would act on it is
left out; elsewhere every byte passes as it is.`,
		Example: `  troupe logs -f -n 20 j7                 the last 20 lines, and what comes
  troupe logs --offset 1000 --limit 50 j7`,
	}
	set := cmd.Flags()
	set.BoolVarP(&f.Follow, "follow", "f", false, "go on until nobody can write any more")
	set.VarP(&flags.LineNumber{Name: "lines", N: &f.Lines}, "lines", "n", "only the last `N` lines; 0 with -f: only what comes")
	set.StringVar(&f.Stream, "stream", "", "only the stream `S`: merged, stdout or stderr")
	set.Var(&flags.LineNumber{Name: "offset", N: &f.Offset}, "offset", "from line `N`; the first is 1")
	set.Var(&flags.LineNumber{Name: "limit", N: &f.Limit}, "limit", "at most `N` lines")
	set.Var(&flags.LineNumber{Name: "head", N: &f.First}, "head", "only the first `N` lines")
	set.StringVar(&f.SinceText, "since", "", "only what was printed in the last `D` (10m), or since a moment (RFC 3339, or as troupe show has it)")
	set.BoolVar(&f.Raw, "raw", false, "leave in what acts on a terminal")
	connect.ByPIDFile(cmd)
	check := func(a *connect.Command) error { return f.Check(a.Cmd.Flags().Changed, a.JSON) }
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error {
		if !f.Follow {
			return logs.Print(a, f)
		}
		return a.UntilReaderGone(func() error { return logs.Print(a, f) })
	})
}
