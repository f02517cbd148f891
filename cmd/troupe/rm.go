package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// rmFlags holds the flags of rm.
type rmFlags struct {
	connect.JobFilter
	ended bool
	scope string
}

func rmCommand(m *cli.Main) *cobra.Command {
	f := &rmFlags{}
	cmd := &cobra.Command{
		Use: "rm [flags] JOB...\ntroupe rm --ended [flags]", Short: "Remove finished jobs and their output", ValidArgsFunction: connect.JobIDs(m, true, 0),
		Long: `Remove finished jobs and their output: those that are named, or with --ended all that
the other flags select. A live job is never removed.`,
		Example: `  troupe rm --ended --older 24h
  troupe rm --ended --outcome exited --scope main/ci`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.ended {
				return flags.NoArgs(cmd, args)
			}
			return flags.SomeJobs(cmd, args)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&f.ended, "ended", false, "remove all finished jobs that the other flags select")
	set.StringVar(&f.scope, "scope", "", "remove the JOBs at and below the scope `PATH`, or with --ended all finished ones there")
	f.Define(cmd)
	connect.InScope(cmd, 0)
	return connect.NewCommand(m, cmd, f.check, func(a *connect.Command) error { return removeJobs(a, f) })
}

func (f *rmFlags) check(a *connect.Command) error {
	set := a.Cmd.Flags()
	for _, flag := range []string{"name", "outcome", "older"} {
		if set.Changed(flag) && !f.ended {
			return messages.Invalid(flag, "--"+flag+" selects among the finished jobs: give --ended too")
		}
	}
	if err := f.Check(a.Cmd); err != nil {
		return err
	}
	return connect.CheckScope(a, "scope", f.scope)
}

func removeJobs(a *connect.Command, f *rmFlags) error {
	ids, err := f.ids(a)
	if err != nil {
		return err
	}
	gone, refused, err := a.RemoveAll(a.Ctx, ids)
	all := removed{JobList: messages.JobList{Jobs: out.List(gone), Tasks: []messages.Task{}}}
	for _, e := range refused {
		if !f.ended || !errors.Is(e, stillRuns) {
			all.Add(e)
		}
	}
	if err != nil {
		all.Add(connect.Connected(err))
	}
	return a.Together(all, all.Failures)
}

// stillRuns is the refusal for a job that has its outcome, but whose processes or output have not
// ended.
var stillRuns = &messages.Error{Code: messages.Refused, Reason: "running"}

// ids returns the jobs to remove. With --ended they are named by UID: an id or a name may be
// another job's by now.
func (f *rmFlags) ids(a *connect.Command) (ids []messages.JobID, err error) {
	if !f.ended {
		for _, id := range a.Args {
			ids = append(ids, messages.JobID(id))
		}
		return ids, nil
	}
	list, err := host.Ask(a.Ctx, a.Host(), messages.ListJobs{Scope: messages.ScopePath(f.scope), States: []messages.State{messages.Finished}})
	for _, j := range f.Select(list.Jobs, time.Now()) {
		ids = append(ids, connect.UID(j))
	}
	return ids, err
}

// removed holds the removed jobs, in order, and the failures.
type removed struct {
	messages.JobList
	connect.Failures
}
