package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/http/wire"
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
	list, err := a.Jobs(a.Ctx, r)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.Object(wire.JobList{V: wire.Version, Jobs: wire.List(list.Jobs), Tasks: wire.List(list.Tasks)})
	case f.quiet:
		for _, job := range list.Jobs {
			if _, err := fmt.Fprintln(a.Main.Out, job.ID); err != nil {
				return err
			}
		}
		return nil
	}
	return out.PrintTable(a.Main, jobTable(list.Jobs, time.Now()))
}

// jobTable lists jobs. SCOPE stays empty if all jobs are in the main scope, and SESSION for
// the default session; the table omits columns without text.
func jobTable(jobs []messages.Record, now time.Time) *out.Table {
	t := &out.Table{Head: []string{"ID", "NAME", "SCOPE", "SESSION", "STATUS", "OUTPUT", "COMMAND"}, Spare: []int{5, 3, 2}, Long: 1} // OUTPUT, SESSION, SCOPE; NAME
	apart := slices.ContainsFunc(jobs, func(j messages.Record) bool { return j.Scope != messages.MainScope })
	for _, j := range jobs {
		scope, session := "", ""
		if apart {
			scope = string(j.Scope)
		}
		if j.Session != messages.DefaultSession {
			session = string(j.Session)
		}
		size := outputBytes(j)
		output := humanize.IBytes(size)
		switch {
		case len(j.Output) == 0:
			output = "?" // the keeper did not report it
		case size == 0 && j.HasFlag(messages.FlagOutputLost):
			output = "lost"
		}
		t.Add(string(j.ID), j.Name, scope, session, statusText(j, now), output, j.Command)
	}
	return t
}

// outputBytes returns the bytes that a job has written to all streams.
func outputBytes(j messages.Record) uint64 {
	sum := int64(0)
	for _, out := range j.Output {
		sum += out.Bytes
	}
	return uint64(max(sum, 0))
}

// statusText describes the state of a job and its age.
func statusText(j messages.Record, now time.Time) string {
	if j.State.Ended() {
		return endText(j) + ", " + out.Ago(now.Sub(j.End.At)) + " ago"
	}
	since := j.Started
	if since.IsZero() {
		since = j.Created
	}
	text := string(j.State) + " " + out.Ago(now.Sub(since))
	switch {
	case j.WaitingForSecret:
		text += ", waits for a secret"
	case j.WaitingForInput:
		text += ", waits for input"
	case j.HasFlag(messages.FlagLogBlocked):
		text += ", output was blocked" // or still is: the flag stays after the log had room again
	case !j.Background && j.State == messages.Running:
		text += ", foreground"
	}
	return text
}

// endText describes the outcome of a job.
func endText(j messages.Record) string {
	switch j.End.Outcome {
	case messages.Exited:
		return fmt.Sprintf("exited %d", j.End.Shell())
	case messages.Signaled:
		return "signal " + j.End.Signal
	case messages.TimedOut:
		return "timed out"
	case messages.FailedToStart:
		return "failed to start"
	}
	return string(j.End.Outcome)
}
