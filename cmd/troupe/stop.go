package main

import (
	"time"

	"github.com/spf13/cobra"

	"troupe/messages"
)

// stopFlags are the flags of stop as they were typed.
type stopFlags struct {
	grace durationFlag
	force bool
	scope string
}

func stopCommand(m *Main) *cobra.Command {
	f := &stopFlags{grace: durationFlag{name: "grace", zero: true}}
	cmd := &cobra.Command{
		Use: "stop [flags] JOB...\ntroupe stop [flags] --scope PATH", Short: "End jobs and everything they started", ValidArgsFunction: jobIDs(m, false, 0),
		Long: `Ask all processes of the jobs to end (TERM), kill them after the grace, and
return when nothing of them is left. A job that has ended already is no error.`,
		Annotations: map[string]string{helpEnd: "Exit status: 0; 4 if a process could not be ended, which is named then; 1 without\nsuch a job, 2 if the flags make no sense."},
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("scope") && len(args) > 0:
				return messages.Invalid("arguments", "--scope names all jobs of a scope, so "+quoted(args[0])+" is too much; give one of them")
			case cmd.Flags().Changed("scope"):
				return nil
			}
			return someJobs(cmd, args)
		},
	}
	set := cmd.Flags()
	set.Var(&f.grace, "grace", "from TERM to KILL (default each job's own, 5s if it has none)")
	set.BoolVar(&f.force, "force", false, "kill at once, as --grace 0")
	set.StringVar(&f.scope, "scope", "", "all jobs at and below the scope `PATH`")
	byPidFile(cmd)
	check := func(a *daemonCommand) error {
		if f.force && f.grace.set && f.grace.d > 0 {
			return messages.Invalid("grace", "--force and --grace contradict each other; give one of them")
		}
		if pidFileOf(cmd) != "" && cmd.Flags().Changed("scope") {
			return messages.Invalid("arguments", "--pid-file names one job, and --scope all of a scope; give one of them")
		}
		return checkScope(a, "scope", f.scope)
	}
	return newDaemonCommand(m, cmd, check, func(a *daemonCommand) error { return stopJobs(a, f.scope, f.span()) })
}

// span is the grace as a request has it: none is negative, 0 the job's own.
func (f *stopFlags) span() time.Duration {
	if f.force || f.grace.set && f.grace.d == 0 {
		return -1
	}
	return f.grace.d
}
