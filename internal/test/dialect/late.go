package dialecttest

import (
	"context"
	"regexp"
	"time"

	"troupe/internal/dialect"
	"troupe/messages"
)

// Late is a host whose commands take longer than their calls wait, however fast or slow
// the machine is: they go on in the background when they have written something, and not
// when a time is over.
type Late struct {
	dialect.Host
	Beside dialect.TaskGroup
	// Until is, by the text of a command, what it writes before its call waits no longer.
	// Other commands are left alone.
	Until map[string]string
	// Waited is told how long a call was to wait, when it has waited enough; nil: nobody is.
	Waited func(wait time.Duration)
}

// Run runs a command. One of Until is promoted when it has written its text.
func (l Late) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Job, dialect.Text, error) {
	command := r.Text
	if len(r.Argv) > 0 {
		command = r.Argv[len(r.Argv)-1] // a shell's
	}
	text, ok := l.Until[command]
	if !ok || r.PromoteAfter == 0 {
		return l.Host.Run(ctx, r, most, known)
	}
	wait := r.PromoteAfter
	r.PromoteAfter = time.Hour
	return l.Host.Run(ctx, r, most, func(id messages.JobID) {
		if known != nil {
			known(id)
		}
		l.Beside.Go(func() { l.promote(ctx, id, wait, text) })
	})
}

func (l Late) promote(ctx context.Context, id messages.JobID, wait time.Duration, text string) {
	until := messages.Condition{Kind: messages.UntilPattern, Pattern: regexp.QuoteMeta(text)}
	if text == "" {
		until = messages.Condition{Kind: messages.UntilQuiet, Quiet: time.Millisecond}
	}
	seen, err := l.Await(ctx, messages.WaitJobs{Jobs: []messages.JobID{id}, Condition: until})
	if err != nil || !seen.Satisfied {
		return // its call has its end
	}
	if l.Waited != nil {
		l.Waited(wait)
	}
	_, _ = l.Promote(ctx, id) // what has just ended needs none
}
