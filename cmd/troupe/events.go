package main

import (
	"fmt"
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

// eventFlags holds the flags of events.
type eventFlags struct {
	follow     bool
	after      uint64
	scope, job string
	ends       bool
}

func eventsCommand(m *cli.Main) *cobra.Command {
	f := &eventFlags{}
	cmd := &cobra.Command{
		Use: "events [flags]", Short: "Print numbered events of jobs, sessions and scopes", Args: flags.NoArgs,
		Long: `Print the events of jobs, sessions and scopes, oldest first. With -f, follow new
events, and wait for a daemon that restarts. A line reports events that are no longer
stored.`,
		Example: `  troupe events -f --ends --json | while read -r event; do ...; done
  troupe events --after 1234`,
	}
	set := cmd.Flags()
	set.BoolVarP(&f.follow, "follow", "f", false, "follow new events; without --after, print only new ones")
	set.Var((*flags.Seq)(&f.after), "after", "only events with a number above `SEQ`")
	set.StringVar(&f.scope, "scope", "", "only events at and below the scope `PATH`")
	set.StringVar(&f.job, "job", "", "only events of `JOB`")
	set.BoolVar(&f.ends, "ends", false, "only the ends of jobs")
	_ = cmd.RegisterFlagCompletionFunc("job", connect.JobIDs(m, true, 0))
	set.Bool("json", false, "print one object per line")
	return connect.NewCommand(m, cmd, connect.Scoped(&f.scope), func(a *connect.Command) error {
		a.JSON, _ = set.GetBool("json")
		return a.UntilReaderGone(func() error { return followEvents(a, f) })
	})
}

func followEvents(a *connect.Command, f *eventFlags) error {
	r := messages.Subscribe{
		After: messages.Seq(f.after), Now: f.follow && !a.Cmd.Flags().Changed("after"),
		Filter: messages.Filter{Scope: messages.ScopePath(f.scope), Ends: f.ends},
	}
	if f.job != "" {
		found, err := host.Ask(a.Ctx, a.Host(), messages.FindJob{Job: messages.JobID(f.job)})
		if err != nil {
			return err
		}
		r.Filter.Job = connect.UID(found.Job) // a later job can have the same name
	}
	events := a.PastEvents
	if f.follow {
		events = a.Events
	}
	for e, err := range events(a.Ctx, r) {
		if err != nil {
			return err
		}
		if err := printEvent(a, e); err != nil {
			return err
		}
	}
	return nil
}

// printEvent prints an event as one line of text or JSON.
func printEvent(a *connect.Command, e api.Event) error {
	if a.JSON {
		return a.Object(e)
	}
	_, err := fmt.Fprintf(a.Main.Out, "%6d  %s\n", e.Seq, out.Clean(eventText(e, time.Now())))
	return err
}

// noticeWidth limits the printed target of a notice, in columns.
const noticeWidth = 60

// eventText describes an event in one line.
func eventText(e api.Event, now time.Time) string {
	what := strings.ReplaceAll(strings.TrimPrefix(e.Kind, "command_"), "_", " ")
	switch {
	case e.Job != nil:
		text := fmt.Sprintf("%s %s", e.Job.ID, what)
		if e.Job.State.Ended() {
			text += " (" + out.EndText(*e.Job) + ")"
		}
		if e.Kind == api.CommandNotified {
			for _, n := range e.Job.OnFinish {
				text += "; " + out.Shorten(n.To, noticeWidth) + " " + out.NoticeText(n)
			}
			return text
		}
		return text + "  " + out.Shorten(e.Job.Command, out.RecordWidth)
	case e.Session != nil:
		return what + " " + string(e.Session.Scope) + " " + string(e.Session.Session) + out.Prefixed(": ", e.Session.Reason)
	case e.Scope != nil:
		return what + " " + string(e.Scope.Path) + out.Prefixed(": ", e.Scope.Reason)
	case e.Kind == api.FactsDropped && e.Seq < e.From:
		return fmt.Sprintf("event numbers restart with a new journal; events after %d are unknown", e.From-1)
	case e.Kind == api.FactsDropped:
		return fmt.Sprintf("events %d to %d are no longer stored", e.From, e.Seq)
	}
	return what
}
