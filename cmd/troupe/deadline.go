package main

import (
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

func deadlineCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "deadline [flags] JOB +D|D|none", Short: "Change the deadline of a job", ValidArgsFunction: jobIDs(m, false, 1),
		Args: func(cmd *cobra.Command, args []string) error { return flags.Exactly(cmd, args, "JOB", "+D|D|none") },
		Long: "Give a job D more than it has (+10m), D from now (10m), or no deadline (none).",
	}
	var r messages.ChangeDeadline
	check := func(a *daemonCommand) (err error) {
		r, err = deadlineOf(messages.JobID(a.args[0]), a.args[1])
		return err
	}
	return newDaemonCommand(m, cmd, check, func(a *daemonCommand) error { return acknowledge(a, a.Deadline(a.ctx, r)) })
}

// deadlineOf is the change that a text means: +D, D or none.
func deadlineOf(job messages.JobID, text string) (messages.ChangeDeadline, error) {
	r := messages.ChangeDeadline{Job: job}
	text, more := strings.CutPrefix(text, "+")
	if text == "none" && !more {
		r.None = true
		return r, nil
	}
	d := flags.Duration{Name: "deadline", Bare: true}
	err := d.Set(text)
	if more {
		r.Extend = d.D
	} else {
		r.After = d.D
	}
	return r, err
}
