package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe/backends/engine"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// statusSurvivors is the exit status of a stop that could not end everything.
const statusSurvivors = 4

// stopFlags are the flags of stop as they were typed.
type stopFlags struct {
	grace durationFlag
	force bool
	scope string
}

func (m *Main) stopCommand() *cobra.Command {
	f := &stopFlags{grace: durationFlag{name: "grace", zero: true}}
	cmd := &cobra.Command{
		Use: "stop [flags] JOB...\ntroupe stop [flags] --scope PATH", Short: "End jobs and everything they started", ValidArgsFunction: m.jobIDs(false, 0),
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
	return m.daemonCommand(cmd, check, func(a *daemonCommand) error { return a.stop(f.scope, f.span()) })
}

// span is the grace as a request has it: none is negative, 0 the job's own.
func (f *stopFlags) span() time.Duration {
	if f.force || f.grace.set && f.grace.d == 0 {
		return -1
	}
	return f.grace.d
}

func (m *Main) killCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "kill [flags] JOB...", Short: "Kill jobs at once, with everything they started", Args: someJobs, ValidArgsFunction: m.jobIDs(false, 0),
		Long: "Kill all processes of the jobs and return when nothing of them is left; as troupe stop --force.",
	}
	byPidFile(cmd)
	return m.daemonCommand(cmd, nil, func(a *daemonCommand) error { return a.stop("", -1) })
}

// stopped is what became of several stops: what went wrong with some hides nothing
// of what was done with the others.
type stopped struct {
	wire.Stopped
	failures
}

// stop ends the jobs of the arguments, or of a scope.
func (a *daemonCommand) stop(scope string, grace time.Duration) error {
	requests := []messages.StopCommand{{Scope: messages.ScopePath(scope), Grace: grace, Reason: "troupe stop --scope " + scope}}
	if len(a.args) > 0 {
		requests = nil
		for _, id := range a.args {
			requests = append(requests, messages.StopCommand{Job: messages.JobID(id), Grace: grace, Reason: "troupe " + a.cmd.Name()})
		}
	}
	all := stopped{Stopped: wire.Stopped{V: wire.Version, Jobs: []messages.JobID{}, Survivors: []messages.Survivor{}, Already: len(a.args) > 0}}
	replies, errs := inParallel(requests, func(r messages.StopCommand) (messages.CommandStopped, error) { return a.Stop(a.ctx, r) })
	for i, s := range replies {
		if errs[i] != nil {
			all.add(errs[i])
			continue
		}
		all.Jobs = append(all.Jobs, s.Jobs...)
		all.Survivors = append(all.Survivors, s.Survivors...)
		all.Already = all.Already && s.Already
	}
	all.Already = all.Already && len(all.Jobs) > 0
	if len(all.Survivors) > 0 {
		return a.survived(all)
	}
	if all.Error == nil && scope != "" && len(all.Jobs) == 0 { // as after the last of them has ended; or a scope mistyped
		a.printError(fmt.Errorf("there was no job to stop at or below the scope %s", scope))
	}
	return a.together(all, all.failures)
}

// survived tells of processes that could not be ended, which is the worst that can
// have happened, and of what else went wrong.
func (a *daemonCommand) survived(all stopped) error {
	all.Error = nil
	if a.json {
		if err := a.object(all); err != nil {
			return err
		}
	}
	for _, e := range all.Errors {
		a.printError(&e)
	}
	for _, s := range all.Survivors {
		a.printError(survivorError(s))
	}
	return exitStatus(statusSurvivors)
}

// survivorError names one of them.
func survivorError(s messages.Survivor) error {
	return fmt.Errorf("process %d could not be ended: %s", s.PID, survivorText(s))
}

// survivorText is why a process could not be ended.
func survivorText(s messages.Survivor) string {
	if s.Why != "" {
		return s.Why
	}
	return strings.TrimSpace("it is in state " + s.State + " " + s.Wchan)
}

func (m *Main) signalCommand() *cobra.Command {
	var tree bool
	cmd := &cobra.Command{
		Use: "signal [flags] JOB SIGNAL", Short: "Send a signal to a job", ValidArgsFunction: oneByOne(m.jobIDs(false, 1), signalWords),
		Args: func(cmd *cobra.Command, args []string) error { return exactly(cmd, args, "JOB", "SIGNAL") },
		Long: "Send a signal to the main process of a job: INT, SIGINT or 2.",
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "to all of its processes")
	check := func(a *daemonCommand) error {
		if engine.SignalNumber(a.args[1]) == 0 {
			return messages.Invalid("signal", quoted(a.args[1])+" is no signal; give a name such as INT or TERM, or a number up to 64")
		}
		return nil
	}
	return m.daemonCommand(cmd, check, func(a *daemonCommand) error {
		return a.done(a.Signal(a.ctx, messages.SignalCommand{Job: messages.JobID(a.args[0]), Signal: a.args[1], Tree: tree}))
	})
}

// done ends a verb that has nothing to tell.
func (a *daemonCommand) done(err error) error {
	if err == nil && a.json {
		return a.object(wire.Acknowledged{V: wire.Version})
	}
	return err
}

func (m *Main) promoteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "promote [flags] JOB", Short: "Let a foreground job go on in the background", Args: oneJob, ValidArgsFunction: m.jobIDs(false, 1),
		Long: "Let a job go on in the background that somebody waits for: they are answered, and\nits process does not notice. It stays then, also if it was in the background before,\nwhen the agent leaves in whose scope it is.",
	}
	return m.daemonCommand(cmd, nil, func(a *daemonCommand) error {
		job, err := a.Promote(a.ctx, messages.PromoteCommand{Job: messages.JobID(a.args[0]), Keep: true})
		if err == nil && a.json {
			return a.object(wire.Job{Job: job})
		}
		return err
	})
}

func (m *Main) deadlineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "deadline [flags] JOB +D|D|none", Short: "Change the deadline of a job", ValidArgsFunction: m.jobIDs(false, 1),
		Args: func(cmd *cobra.Command, args []string) error { return exactly(cmd, args, "JOB", "+D|D|none") },
		Long: "Give a job D more than it has (+10m), D from now (10m), or no deadline (none).",
	}
	var r messages.ChangeDeadline
	check := func(a *daemonCommand) (err error) {
		r, err = deadlineOf(messages.JobID(a.args[0]), a.args[1])
		return err
	}
	return m.daemonCommand(cmd, check, func(a *daemonCommand) error { return a.done(a.Deadline(a.ctx, r)) })
}

// deadlineOf is the change that a text means: +D, D or none.
func deadlineOf(job messages.JobID, text string) (messages.ChangeDeadline, error) {
	r := messages.ChangeDeadline{Job: job}
	text, more := strings.CutPrefix(text, "+")
	if text == "none" && !more {
		r.None = true
		return r, nil
	}
	d := durationFlag{name: "deadline", bare: true}
	err := d.Set(text)
	if more {
		r.Extend = d.d
	} else {
		r.After = d.d
	}
	return r, err
}
