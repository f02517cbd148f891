package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

// stopFlags holds the flags of stop.
type stopFlags struct {
	grace flags.Duration
	force bool
	scope string
}

func stopCommand(m *cli.Main) *cobra.Command {
	f := &stopFlags{grace: flags.Duration{Name: "grace", Zero: true}}
	cmd := &cobra.Command{
		Use: "stop [flags] JOB...\ntroupe stop [flags] --scope PATH", Short: "Stop jobs and everything they started", ValidArgsFunction: connect.JobIDs(m, false, 0),
		Long: `Stop all processes of the jobs with TERM, kill them after the grace, and return when
none is left. It is not an error if a job has ended already.`,
		Annotations: map[string]string{flags.HelpEnd: "Exit status: 0; 4 if processes survive, which are listed; 1 if there is no such\njob; 2 for invalid usage."},
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("scope") && len(args) == 0 {
				return nil
			}
			return flags.SomeJobs(cmd, args)
		},
	}
	set := cmd.Flags()
	set.Var(&f.grace, "grace", "time from TERM to KILL (default each job's own, or 5s)")
	set.BoolVar(&f.force, "force", false, "kill at once, as --grace 0")
	set.StringVar(&f.scope, "scope", "", "stop the JOBs at and below the scope `PATH`, or without JOB all jobs there")
	connect.ByPIDFile(cmd)
	check := func(a *connect.Command) error {
		if f.force && f.grace.Given && f.grace.D > 0 {
			return messages.Invalid("grace", "--force and --grace contradict each other; give one of them")
		}
		return connect.CheckScope(a, "scope", f.scope)
	}
	connect.InScope(cmd, 0)
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error { return stopJobs(a, f.scope, f.span()) })
}

// span returns the grace of the request: negative for none, 0 for the job's own.
func (f *stopFlags) span() time.Duration {
	if f.force || f.grace.Given && f.grace.D == 0 {
		return -1
	}
	return f.grace.D
}

// stopped is the result of several stops. A failed stop does not hide the results of the
// others.
type stopped struct {
	messages.CommandStopped
	connect.Failures
}

// stopJobs stops the jobs of the arguments, or those of a scope.
func stopJobs(a *connect.Command, scope string, grace time.Duration) error {
	requests := []messages.StopCommand{{Scope: messages.ScopePath(scope), Grace: grace, Reason: "troupe stop --scope " + scope}}
	if len(a.Args) > 0 {
		requests = nil
		for _, id := range a.Args {
			requests = append(requests, messages.StopCommand{Job: messages.JobID(id), Grace: grace, Reason: "troupe " + a.Cmd.Name()})
		}
	}
	all := stopped{CommandStopped: messages.CommandStopped{Jobs: []messages.JobID{}, Survivors: []messages.Survivor{}, Already: len(a.Args) > 0}}
	replies, errs := connect.InParallel(requests, func(r messages.StopCommand) (messages.CommandStopped, error) { return host.Ask(a.Ctx, a.Host(), r) })
	for i, s := range replies {
		if errs[i] != nil {
			all.Add(errs[i])
			continue
		}
		all.Jobs = append(all.Jobs, s.Jobs...)
		all.Survivors = append(all.Survivors, s.Survivors...)
		all.Already = all.Already && s.Already
	}
	all.Already = all.Already && len(all.Jobs) > 0
	if len(all.Survivors) > 0 {
		all.Error = nil
		return a.Stopped(all, all.Failures, all.Survivors)
	}
	if all.Error == nil && scope != "" && len(all.Jobs) == 0 { // all jobs have ended, or the scope is mistyped
		a.PrintError(fmt.Errorf("no live jobs at or below scope %s", scope))
	}
	return a.Together(all, all.Failures)
}
