package omp

import (
	"context"
	"io"
	"strings"
	"time"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
)

// inClient runs a command in the client's terminal.
func (s *Session) inClient(ctx context.Context, c *call) (dialect.Result, error) {
	choice, err := s.choice()
	if err != nil {
		return dialect.Result{}, err
	}
	env := shelltext.Overlay(s.environment(choice), entries(c.p.Env))
	began := s.options.Now()
	life, over := context.WithCancel(ctx)
	defer over()
	defer context.AfterFunc(s.ctx, over)()
	end, failed := s.options.Client.Run(life, ClientRun{
		Argv: choice.Argv(shelltext.Prefixed(prefix(s.options.Env, s.options.Settings), c.command)), Env: env, Dir: c.dir, Timeout: c.timeout.Duration(), Most: window,
	}, func(text, terminal string) {
		if c.update != nil {
			c.update(dialect.Result{Text: s.clean(text), Details: &Details{TerminalID: terminal}})
		}
	})
	e := ended{how: exited, timeout: c.timeout, limits: c.limits, client: end.TerminalID, wall: s.options.Now().Sub(began)}
	e.out = s.captureText(end.Output, c.limits.head)
	if end.Truncated {
		e.notes = append(e.notes, textClientCut)
	}
	switch {
	case end.TimedOut:
		e.how = timedOut
	case failed != nil && life.Err() != nil:
		e.how = aborted
	case failed != nil && end.TerminalID == "":
		e.how, e.why = unstarted, failed.Error()
	case end.ExitCode != nil:
		e.code = *end.ExitCode
	case end.Signal != "":
		e.code = 137 // oh-my-pi uses it for any signal
	case failed != nil:
		e.how, e.why = statusless, failed.Error()
	default:
		e.how = statusless
	}
	return s.answer(ctx, e)
}

// clean returns an output of the client's terminal without control sequences.
func (s *Session) clean(text string) string {
	var b strings.Builder
	clean := s.cleaner(&b, 0)
	if _, err := io.WriteString(clean, text); err == nil {
		_ = clean.Close() // a Builder accepts everything
	}
	return b.String()
}

// ClientTerminal runs commands in a terminal of the client. Run returns when the
// command has ended, ctx has ended, or the timeout is over, and has killed a command that
// runs then. With the error of ctx, or that of a command whose end is not known, the ClientEnd
// has the output so far; an error without a TerminalID means that no command was started.
type ClientTerminal interface {
	Run(ctx context.Context, r ClientRun, update func(text, terminalID string)) (ClientEnd, error)
}

// ClientRun is a command for a client's terminal.
type ClientRun struct {
	Argv    []string
	Env     []string
	Dir     string
	Timeout time.Duration // 0: none
	Most    int           // bytes of the output that the client keeps
}

// ClientEnd says how such a command ended.
type ClientEnd struct {
	TerminalID string
	Output     string
	Truncated  bool // the client kept only the end
	ExitCode   *int
	Signal     string
	TimedOut   bool
}
