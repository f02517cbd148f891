package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// psFlags holds the flags of ps.
type psFlags struct {
	all, quiet   bool
	scope, state string
}

func psCommand(m *cli.Main) *cobra.Command {
	f := &psFlags{}
	cmd := &cobra.Command{
		Use: "ps [flags]", Short: "List jobs", Args: flags.NoArgs,
		Long: `List the live jobs of the daemon, oldest first; with -a, finished ones too. On a
terminal, long commands are cut, and a narrow one shows fewer columns.`,
		Example: `  troupe ps -a --scope main/ci
  troupe stop $(troupe ps -q --state running)`,
	}
	set := cmd.Flags()
	set.BoolVarP(&f.all, "all", "a", false, "include finished jobs")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "print only ids")
	set.StringVar(&f.scope, "scope", "", "only jobs at and below the scope `PATH`")
	set.StringVar(&f.state, "state", "", "only jobs in `STATE`: queued, starting, running, stopping, draining or finished")
	return connect.NewCommand(m, cmd, f.check, func(a *connect.Command) error { return listJobs(a, f) })
}

func (f *psFlags) check(a *connect.Command) error {
	if a.Cmd.Flags().Changed("state") && !slices.Contains(states, f.state) {
		return messages.Invalid("state", "invalid state "+strconv.Quote(f.state)+": use "+strings.Join(states[:len(states)-1], ", ")+" or "+states[len(states)-1])
	}
	return connect.CheckScope(a, "scope", f.scope)
}

// states lists the states of a job, in order.
var states = []string{"queued", "starting", "running", "stopping", "draining", "finished"}

func listJobs(a *connect.Command, f *psFlags) error {
	r := messages.ListJobs{Scope: messages.ScopePath(f.scope), Finished: f.all}
	if f.state != "" {
		r.States = []messages.State{messages.State(f.state)}
	}
	list, err := host.Ask(a.Ctx, a.Host(), r)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.Object(messages.JobList{Jobs: out.List(list.Jobs), Tasks: out.List(list.Tasks)})
	case f.quiet:
		for _, job := range list.Jobs {
			if _, err := fmt.Fprintln(a.Main.Out, job.ID); err != nil {
				return err
			}
		}
		return nil
	}
	return out.PrintTable(a.Main, out.JobTable(list.Jobs, time.Now()))
}
