package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/internal/dialect/omp"
)

// Times of a command in the client's terminal.
const (
	pollEvery = 250 * time.Millisecond // between two reads of the output
	replyTime = 2 * time.Second        // for a reply at the end of a command
)

// maxLate bounds the terminals that the client has not created when nothing waits for them any
// more. Beyond it no further ones are asked for.
const maxLate = 64

// terminals runs the commands of a session in terminals of the client.
type terminals struct {
	agent   *agent
	session string
}

// Run implements omp.ClientTerminal. The error is that of ctx, or says why the command did not
// start, or why its end is not known.
func (t *terminals) Run(ctx context.Context, r omp.ClientRun, update func(text, terminalID string)) (omp.ClientEnd, error) {
	var deadline <-chan time.Time
	if r.Timeout > 0 {
		timer := time.NewTimer(r.Timeout)
		defer timer.Stop()
		deadline = timer.C
	}
	id, err := t.create(ctx, r, deadline)
	if err != nil {
		return omp.ClientEnd{TimedOut: errors.Is(err, errTimeout)}, err
	}
	run := &terminalRun{terminals: t, update: update}
	run.end.TerminalID = id
	defer run.release()
	update("", id)
	if err = run.follow(ctx, deadline); err != nil {
		run.kill()
	}
	run.read()
	run.end.TimedOut = errors.Is(err, errTimeout)
	return run.end, err
}

// errTimeout ends a command at its deadline.
var errTimeout = errors.New("the command has reached its deadline")

// create creates a terminal, which starts the command. If the wait ends before the client's
// reply, a late terminal is killed and released.
func (t *terminals) create(ctx context.Context, r omp.ClientRun, deadline <-chan time.Time) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if t.agent.late.Load() >= maxLate {
		return "", fmt.Errorf("the client has not created %d terminals", maxLate)
	}
	p := createParams{
		SessionID: t.session, Command: r.Argv[0], Args: append([]string{}, r.Argv[1:]...), Env: []variable{}, Cwd: r.Dir, Most: r.Most,
	}
	for _, entry := range r.Env {
		name, value, _ := strings.Cut(entry, "=")
		p.Env = append(p.Env, variable{Name: name, Value: value})
	}
	creation := t.agent.conn.call("terminal/create", p)
	var err error
	select {
	case got := <-creation.reply:
		return terminalID(got)
	case <-deadline:
		err = errTimeout
	case <-ctx.Done():
		err = ctx.Err()
	}
	t.agent.late.Add(1)
	t.agent.work.Go(func() { // within a turn, which is part of the work
		defer t.agent.late.Add(-1)
		if id, err := terminalID(<-creation.reply); err == nil {
			late := &terminalRun{terminals: t, end: omp.ClientEnd{TerminalID: id}}
			late.kill()
			late.release()
		}
	})
	return "", err
}

func terminalID(got reply) (string, error) {
	var created createResult
	err := got.decode(&created)
	if err == nil && created.TerminalID == "" {
		err = errors.New("the client's terminal has no id")
	}
	return created.TerminalID, err
}

// terminalRun is a command in a terminal of the client.
type terminalRun struct {
	*terminals
	update func(text, terminalID string)
	end    omp.ClientEnd
	ended  bool // end has the status
	whole  bool // end has the final output
}

func (r *terminalRun) call(method string) *call {
	return r.agent.conn.call(method, terminalParams{SessionID: r.session, TerminalID: r.end.TerminalID})
}

// follow reads the output until the command has ended, its deadline, or the end of ctx. A read
// without a reply delays nothing but the next read.
func (r *terminalRun) follow(ctx context.Context, deadline <-chan time.Time) error {
	exit, poll := r.call("terminal/wait_for_exit"), (*call)(nil)
	exited, polled := exit.reply, (chan reply)(nil)
	defer func() {
		exit.drop()
		if poll != nil {
			poll.drop()
		}
	}()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var lost error
	for {
		select {
		case got := <-exited:
			if exited, lost = nil, r.exited(got); lost == nil {
				return nil
			}
			r.warn("cannot wait for a command in the client's terminal", lost)
		case got := <-polled:
			polled = nil
			err := r.polled(got)
			if err == nil && r.ended {
				return nil
			}
			if err != nil && lost != nil { // the client does not know the terminal
				return err
			}
		case <-tick.C:
			if polled == nil {
				poll = r.call("terminal/output")
				polled = poll.reply
			}
		case <-deadline:
			return errTimeout
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// exited takes the reply to terminal/wait_for_exit.
func (r *terminalRun) exited(got reply) error {
	var status exitStatus
	if err := got.decode(&status); err != nil {
		return err
	}
	r.status(status)
	return nil
}

func (r *terminalRun) status(s exitStatus) {
	r.ended, r.end.ExitCode, r.end.Signal = true, s.Code, s.Signal
}

// polled takes the reply to terminal/output, and shows what is new.
func (r *terminalRun) polled(got reply) error {
	var o outputResult
	if err := got.decode(&o); err != nil {
		return err
	}
	news := o.Output != r.end.Output
	r.end.Output, r.end.Truncated = o.Output, o.Truncated
	if o.Exit != nil && !r.ended {
		r.status(*o.Exit)
	}
	r.whole = o.Exit != nil
	if news {
		r.update(o.Output, r.end.TerminalID)
	}
	return nil
}

// kill kills the command and waits for the client's reply.
func (r *terminalRun) kill() {
	if err := r.call("terminal/kill").within(replyTime, nil); err != nil {
		r.warn("cannot kill a command in the client's terminal", err)
	}
}

// read reads the final output. Without a reply that of the last read stays.
func (r *terminalRun) read() {
	if r.whole || r.agent.conn.hasLeft() {
		return
	}
	var o outputResult
	if err := r.call("terminal/output").within(replyTime, &o); err != nil {
		r.warn("cannot read the output of the client's terminal", err)
		return
	}
	r.end.Output, r.end.Truncated = o.Output, o.Truncated
	if o.Exit != nil && !r.ended {
		r.status(*o.Exit)
	}
}

// release releases the terminal. It does not wait for the client's reply.
func (r *terminalRun) release() {
	released := r.call("terminal/release")
	r.agent.work.Go(func() {
		if err := released.within(replyTime, nil); err != nil {
			r.warn("cannot release the client's terminal", err)
		}
	})
}

func (r *terminalRun) warn(what string, err error) {
	if !errors.Is(err, errLeft) {
		r.agent.Log.Warn(what, "session", r.session, "terminal", r.end.TerminalID, "error", err)
	}
}
