package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/api"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// psFlags holds the flags of ps.
type psFlags struct {
	connect.JobFilter
	all, quiet   bool
	scope, state string
	sort         string
	last         uint
}

func psCommand(m *cli.Main) *cobra.Command {
	f := &psFlags{}
	cmd := &cobra.Command{
		Use: "ps [flags]", Short: "List jobs", Args: flags.NoArgs,
		Long: `List the live jobs of the daemon, oldest first; with -a, finished ones too. On a
terminal, long commands are cut, and a narrow one shows fewer columns. Tasks that a
host has announced follow the jobs, unless a flag selects among these.`,
		Example: `  troupe ps -a --scope main/ci
  troupe ps -a -n 20 --outcome timed_out
  troupe stop $(troupe ps -q --state running)`,
	}
	set := cmd.Flags()
	set.BoolVarP(&f.all, "all", "a", false, "include finished jobs")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "print only ids")
	set.StringVar(&f.scope, "scope", "", "only jobs at and below the scope `PATH`")
	set.StringVar(&f.state, "state", "", "only jobs in `STATE`: queued, starting, running, stopping, draining or finished")
	f.Define(cmd)
	set.StringVar(&f.sort, "sort", "", "order by `KEY`: age, name, duration or output; the largest first, but names from A (default age, oldest first)")
	set.UintVarP(&f.last, "last", "n", 0, "only the `N` newest")
	return connect.NewCommand(m, cmd, f.check, func(a *connect.Command) error { return listJobs(a, f) })
}

func (f *psFlags) check(a *connect.Command) error {
	set := a.Cmd.Flags()
	for flag, of := range map[string]struct {
		value string
		words []string
	}{"state": {f.state, states()}, "sort": {f.sort, sortKeys}} {
		if !set.Changed(flag) {
			continue
		}
		if err := connect.OneOf(flag, of.value, of.words); err != nil {
			return err
		}
	}
	if err := f.Check(a.Cmd); err != nil {
		return err
	}
	return connect.CheckScope(a, "scope", f.scope)
}

// states lists the states of a job, in order.
func states() []string { return api.Values(messages.Queued) }

// sortKeys lists what ps sorts by.
var sortKeys = []string{"age", "name", "duration", "output"}

func listJobs(a *connect.Command, f *psFlags) error {
	r := messages.ListJobs{Scope: messages.ScopePath(f.scope), Finished: f.all || f.Outcome != "", Live: !f.quiet}
	if f.state != "" {
		r.States = []messages.State{messages.State(f.state)}
	}
	list, err := host.Ask(a.Ctx, a.Host(), r)
	if err != nil {
		return err
	}
	now := time.Now()
	jobs, tasks := f.chosen(list.Jobs, now), f.tasks(a, list.Tasks)
	switch {
	case a.JSON:
		return a.Object(messages.JobList{Jobs: out.List(jobs), Tasks: out.List(tasks)})
	case f.quiet:
		for _, job := range jobs {
			if _, err := fmt.Fprintln(a.Main.Out, job.ID); err != nil {
				return err
			}
		}
		return nil
	case len(jobs)+len(tasks) == 0:
		return printNone(a, r.Finished || f.state == "finished")
	}
	if err := out.PrintTable(a.Main, out.JobTable(jobs, tasks, now)); err != nil || !slices.ContainsFunc(jobs, faulty) {
		return err
	}
	_, err = fmt.Fprintln(a.Main.Err, "troupe: faults of a plan happen to jobs of this daemon; troupe show has those of each")
	return err
}

func faulty(j messages.Record) bool { return j.HasFlag(messages.FlagFaults) }

// tasks returns the tasks beside the jobs: none if a flag selects among the jobs.
func (f *psFlags) tasks(a *connect.Command, all []messages.Task) []messages.Task {
	for _, flag := range []string{"name", "outcome", "older", "last"} {
		if a.Cmd.Flags().Changed(flag) {
			return nil
		}
	}
	return all
}

// chosen returns the jobs that the flags select, in their order.
func (f *psFlags) chosen(jobs []messages.Record, now time.Time) []messages.Record {
	jobs = f.Select(jobs, now)
	if n := int(min(f.last, uint(len(jobs)))); n > 0 {
		jobs = jobs[len(jobs)-n:]
	}
	switch f.sort {
	case "name":
		slices.SortStableFunc(jobs, func(a, b messages.Record) int { return strings.Compare(a.Name, b.Name) })
	case "duration":
		slices.SortStableFunc(jobs, func(a, b messages.Record) int { return cmp.Compare(out.Ran(b, now), out.Ran(a, now)) })
	case "output":
		slices.SortStableFunc(jobs, func(a, b messages.Record) int { return cmp.Compare(out.OutputBytes(b), out.OutputBytes(a)) })
	}
	return jobs
}

// printNone says what there is instead of the jobs that were asked for.
func printNone(a *connect.Command, ended bool) error {
	stats, err := a.Stats(a.Ctx)
	if err != nil {
		return err
	}
	finished, live := 0, 0
	for state, n := range stats.Jobs {
		if state.Ended() {
			finished += n
		} else {
			live += n
		}
	}
	text := "troupe: no live job"
	switch {
	case ended && live+finished > 0, live > 0:
		text = fmt.Sprintf("troupe: no such job among %s and %s", out.Plural(live, "live job"), out.Plural(finished, "finished job"))
	case finished > 0:
		text += fmt.Sprintf("; %s: troupe ps -a lists them", out.Plural(finished, "finished job"))
	default:
		text = "troupe: no job yet: troupe run -b starts one"
	}
	_, err = fmt.Fprintln(a.Main.Err, text)
	return err
}
