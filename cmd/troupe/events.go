package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	cursor     string
	scope, job string
	ends       bool
	background bool
}

func eventsCommand(m *cli.Main) *cobra.Command {
	f := &eventFlags{}
	cmd := &cobra.Command{
		Use: "events [flags]", Short: "Print numbered events of jobs, sessions and scopes", Args: flags.NoArgs,
		Long: `Print the events of jobs, sessions and scopes, oldest first. With -f, follow new
events, and wait for a daemon that restarts. A line reports events that are no longer
stored.`,
		Example: `  troupe events -f --ends --json | while read -r event; do ...; done
  troupe events -f --cursor FILE   go on where the last call ended`,
	}
	set := cmd.Flags()
	set.BoolVarP(&f.follow, "follow", "f", false, "follow new events; without --after, print only new ones")
	set.Var((*flags.Seq)(&f.after), "after", "only events with a number above `SEQ`")
	set.StringVar(&f.cursor, "cursor", "", "only events after the last that was printed with this `FILE`; without it, all")
	set.StringVar(&f.scope, "scope", "", "only events at and below the scope `PATH`")
	set.StringVar(&f.job, "job", "", "only events of `JOB`")
	set.BoolVar(&f.ends, "ends", false, "only the ends of jobs, one for each job")
	set.BoolVar(&f.background, "background", false, "only events of jobs in the background")
	_ = cmd.RegisterFlagCompletionFunc("job", connect.JobIDs(m, true, 0))
	set.Bool("json", false, "print one object per line")
	return connect.NewCommand(m, cmd, f.check, func(a *connect.Command) error {
		a.JSON, _ = set.GetBool("json")
		return a.UntilReaderGone(func() error { return followEvents(a, f) })
	})
}

func (f *eventFlags) check(a *connect.Command) error {
	if f.cursor != "" && a.Cmd.Flags().Changed("after") {
		return messages.Invalid("cursor", "--cursor and --after both say where to begin: give one of them")
	}
	return connect.CheckScope(a, "scope", f.scope)
}

func followEvents(a *connect.Command, f *eventFlags) error {
	at := cursor(f.cursor)
	r := messages.Subscribe{
		After: messages.Seq(f.after), Now: f.follow && !a.Cmd.Flags().Changed("after") && at == "",
		Filter: messages.Filter{Scope: messages.ScopePath(f.scope), Ends: f.ends},
	}
	if err := at.read(&r); err != nil {
		return err
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
		if f.shows(e) {
			if err := printEvent(a, e); err != nil {
				return err
			}
		}
		if err := at.write(e); err != nil {
			return err
		}
	}
	return nil
}

// shows reports whether an event is printed: what is no longer stored is always reported.
func (f *eventFlags) shows(e api.Event) bool {
	return !f.background || e.Kind == api.FactsDropped || e.Job != nil && e.Job.Background
}

// cursor is the file with the number of the last event that was printed, and the origin of its
// journal if it has one; "" is no file. A kill between the print and the write prints that event
// again: none is lost.
type cursor string

// read sets where the events begin, if there is a file.
func (c cursor) read(r *messages.Subscribe) error {
	if c == "" {
		return nil
	}
	text, err := os.ReadFile(string(c))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return messages.Invalid("cursor", "cannot read the cursor: "+err.Error())
	}
	var seq flags.Seq
	number, origin, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if err := seq.Set(number); err != nil || !messages.IsOrigin(origin) {
		bad := messages.Invalid("cursor", fmt.Sprintf("%s is no cursor of troupe events: %.64q", string(c), text))
		bad.Hint = "name another file, or remove this one to begin with the oldest event"
		return bad
	}
	r.After, r.Origin = messages.Seq(seq), origin
	return nil
}

// write replaces the file, so that it is never half written.
func (c cursor) write(e api.Event) error {
	if c == "" {
		return nil
	}
	part, text := string(c)+".part", strings.TrimSpace(fmt.Sprintf("%d %s", e.Seq, e.Origin))
	err := os.WriteFile(part, []byte(text+"\n"), 0o600)
	if err == nil {
		err = os.Rename(part, string(c))
	}
	if err != nil {
		return fmt.Errorf("cannot write the cursor: %w", err)
	}
	return nil
}

// printEvent prints an event as one line of text or JSON.
func printEvent(a *connect.Command, e api.Event) error {
	if a.JSON {
		return a.Object(e)
	}
	if e.Kind == api.CommandPromoted && e.Job.Mode.Background() {
		return nil // it was in the background from the start
	}
	at := ""
	if !e.At.IsZero() {
		at = e.At.Local().Format(time.DateTime) + "  "
	}
	_, err := fmt.Fprintf(a.Main.Out, "%6d  %s%s\n", e.Seq, at, out.Clean(eventText(e)))
	return err
}

// noticeWidth limits the printed target of a notice, in columns.
const noticeWidth = 60

// eventText describes an event in one line.
func eventText(e api.Event) string {
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
		if e.Kind == api.CommandChanged && len(e.Job.Faults) > 0 {
			return text + ": " + e.Job.Faults[len(e.Job.Faults)-1]
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
