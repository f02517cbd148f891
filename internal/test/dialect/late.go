package dialecttest

import (
	"context"
	"regexp"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// Late is a host whose commands outlast the wait of their calls, however fast the machine
// is. It promotes a command when it has written a text, not after a time.
type Late struct {
	dialect.Host
	Beside dialect.TaskGroup
	// Until maps the text of a command to the output after which it is promoted. Other
	// commands run unchanged.
	Until map[string]string
	// Waited receives the wait that a call asked for, when the command is promoted; nil:
	// not called.
	Waited func(wait time.Duration)
}

// Run runs a command. A command in Until is promoted after its text was written.
func (l Late) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	command := r.Text
	if len(r.Argv) > 0 {
		command = r.Argv[len(r.Argv)-1] // the shell's -c text
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
	seen, err := host.Ask(ctx, l, messages.WaitJobs{Jobs: []messages.JobID{id}, Condition: until})
	if err != nil || !seen.Satisfied {
		return // the command has ended
	}
	if l.Waited != nil {
		l.Waited(wait)
	}
	_, _ = dialect.Promote(ctx, l, id) // fails if the command has just ended
}
