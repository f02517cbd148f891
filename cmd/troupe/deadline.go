package main

import (
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

func deadlineCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "deadline [flags] JOB +D|D|none", Short: "Change the deadline of a job", ValidArgsFunction: connect.JobIDs(m, false, 1),
		Args: func(cmd *cobra.Command, args []string) error { return flags.Exactly(cmd, args, "JOB", "+D|D|none") },
		Long: "Change the deadline of a job: extend it by D (+10m), set it to D from now (10m), or\nremove it (none).",
	}
	var r messages.ChangeDeadline
	check := func(a *connect.Command) (err error) {
		r, err = deadlineOf(messages.JobID(a.Args[0]), a.Args[1])
		return err
	}
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, check, func(a *connect.Command) error { return connect.Acknowledge(a, r) })
}

// deadlineOf parses +D, D or none.
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
