package console

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"troupe/internal/dialect"
	"troupe/messages"
)

// mostReply bounds what is shown of the output of a command that got a message, in bytes.
const mostReply = 32 << 10

// tagSend is the tag of the jobs that get messages.
const tagSend = "console send"

// Send implements effects.
func (d *driver) Send(text string) tea.Cmd {
	ctx, cancel := context.WithCancel(d.ctx)
	d.mu.Lock()
	d.unsend = cancel
	d.mu.Unlock()
	return func() tea.Msg {
		defer cancel()
		if d.target.command == "" {
			return sentMsg{err: d.target.write(ctx, text)}
		}
		reply, err := d.pass(ctx, text)
		return sentMsg{reply, err}
	}
}

// CancelSend implements effects.
func (d *driver) CancelSend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unsend != nil {
		d.unsend()
	}
}

// pass runs the command of --send as a job with a message on its standard input, and returns the
// end of what it has printed. The message was sent if the command exits with code 0, also if it
// has not read all.
func (d *driver) pass(ctx context.Context, text string) (reply string, err error) {
	r := messages.RunCommand{
		Scope: d.scope, Labels: messages.Labels{Tag: tagSend, Description: d.target.command}, Dir: d.dir, Program: messages.Program{Argv: []string{"sh", "-c", d.target.command}},
		Env: messages.Env{Policy: messages.EnvCaller, Base: d.env}, Stdio: messages.Stdio{Streams: messages.MergedStreams, Stdin: messages.StdinPipe},
	}
	job, printed, err := d.host.Run(ctx, r, mostReply, func(id messages.JobID) {
		d.beside.Go(func() { d.feed(ctx, id, text) })
	})
	if err == nil && !job.State.Ended() { // promoted by a person
		job, err = dialect.WaitEnd(ctx, d.host, messages.JobID(job.UID))
	}
	reply = strings.TrimRight(clean(printed.Text), "\n")
	switch last := reply[strings.LastIndexByte(reply, '\n')+1:]; {
	case ctx.Err() != nil:
		return reply, ctx.Err()
	case err != nil:
		return reply, err
	case job.End.Outcome == messages.Exited && job.End.Shell() == 0:
		return reply, nil
	case job.End.Outcome == messages.FailedToStart:
		return reply, &job.End.Err
	case last != "":
		return reply, fmt.Errorf("exited with code %d: %s", job.End.Shell(), last)
	}
	return reply, fmt.Errorf("exited with code %d", job.End.Shell())
}

// feed writes a message to the input of a job, and ends the input. A job that has ended before
// says itself whether it has what it needs.
func (d *driver) feed(ctx context.Context, id messages.JobID, text string) {
	for len(text) > 0 && ctx.Err() == nil {
		part := text[:min(len(text), messages.MaxInput/4)]
		if dialect.Input(ctx, d.host, messages.WriteInput{Job: id, Data: []byte(part)}) != nil {
			break
		}
		text = text[len(part):]
	}
	_ = dialect.CloseInput(ctx, d.host, id)
}
