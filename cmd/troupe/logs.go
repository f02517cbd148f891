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
		Use: "logs [flags] JOB...", Short: "Print the output of jobs", Args: someOrScope, ValidArgsFunction: connect.JobIDs(m, true, 0),
		Long: `Print the output of jobs: all of it, or the lines that the flags select. Separate
streams go to stdout and stderr, in output order. On a terminal, control sequences
other than colours are left out; elsewhere every byte passes unchanged.

Of several jobs, and of those of a scope, each line begins with the name or id of its
job. They are printed one after the other; -f follows those that live together.

--grep exits with 1 if no line matches. --cast prints an asciicast, which asciinema plays.`,
		Example: `  troupe logs -f -n 20 j7                 the last 20 lines, then new output
  troupe logs --offset 1000 --limit 50 j7
  troupe logs -f web db                   two jobs, each line with its job
  troupe logs --grep 'ERROR|panic' --context 3 j7
  troupe logs --cast j7 > j7.cast         for asciinema play j7.cast`,
	}
	set := cmd.Flags()
	set.BoolVarP(&f.Follow, "follow", "f", false, "follow new output until no process can write any more")
	set.VarP(&flags.LineNumber{Name: "lines", N: &f.Lines}, "lines", "n", "only the last `N` lines; with -f, 0 means only new output")
	set.StringVar(&f.Stream, "stream", "", "only the stream `S`: merged, stdout or stderr")
	set.Var(&flags.LineNumber{Name: "offset", N: &f.Offset}, "offset", "start at line `N`; the first is 1")
	set.Var(&flags.LineNumber{Name: "limit", N: &f.Limit}, "limit", "print at most `N` lines")
	set.Var(&flags.LineNumber{Name: "head", N: &f.First}, "head", "only the first `N` lines")
	set.StringVar(&f.SinceText, "since", "", "only output of the last `D` (10m), or since a time (RFC 3339, or as troupe show prints it)")
	set.Var(&flags.LineNumber{Name: "tail", N: &f.Lines}, "tail", "the same as --lines")
	set.BoolVarP(&f.Times, "timestamps", "t", false, "print when each line arrived, in UTC, to a second")
	set.StringVar(&f.Grep, "grep", "", "only the lines that match the pattern `RE` (RE2), with their numbers")
	set.Var(&flags.LineNumber{Name: "context", N: &f.Context}, "context", "with --grep: also `N` lines before and after each match")
	set.BoolVar(&f.Cast, "cast", false, "print one job as an asciicast (version 3): its output with its times, and its exit status")
	set.StringVar(&f.Scope, "scope", "", "the jobs at and below the scope `PATH`; with JOB, look for it there")
	set.BoolVar(&f.Raw, "raw", false, "keep control sequences on a terminal")
	connect.ByPIDFile(cmd)
	check := func(a *connect.Command) error { return f.Check(a.Cmd.Flags().Changed, a.JSON) }
	connect.InScope(cmd, 0)
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error {
		if !f.Follow {
			return logs.Print(a, f)
		}
		return a.UntilReaderGone(func() error { return logs.Print(a, f) })
	})
}

// someOrScope requires a job, or the scope of the jobs.
func someOrScope(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && cmd.Flags().Changed("scope") {
		return nil
	}
	return flags.SomeJobs(cmd, args)
}
