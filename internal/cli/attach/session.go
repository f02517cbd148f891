package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/coder/websocket"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/logs"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
	"troupe/spill/view"
)

// Flags are the flags of attach as they were typed.
type Flags struct {
	Watch, Take bool
	Keys        string
	leave       []byte // what keys are
}

// Check refuses flags that contradict each other, and reads the detach keys.
func (f *Flags) Check(a *connect.Command) (err error) {
	switch {
	case a.JSON:
		return messages.Invalid("json", "attach prints what the job prints, which is no object; use troupe show --json")
	case f.Watch && f.Take:
		return messages.Invalid("lease", "--watch and --take contradict each other; give one of them")
	}
	f.leave, err = terminal.ParseKeys(f.Keys)
	return err
}

// attachSession is a place at a job.
type attachSession struct {
	*connect.Command
	at           *client.Attachment
	screen       *terminal.Printer
	detachKeys   []byte              // the keys that leave it
	cleaner      *view.Cleaner       // of a terminal
	size         messages.Terminal   // that of the job has had last
	pty          bool                // the job has a terminal, at which we sit: ours only passes on
	modes        string              // what ours is told to be as the job's is
	raw          bool                // our terminal is shown what that of the job is
	queryFilter  view.TerminalFilter // … and is not asked what others answer
	answers      int64               // it answers from this byte on; negative: nothing
	shown        int64               // bytes of the output, as far as it was heard
	typed        bool                // by a person: what cannot be sent is said, and forgotten
	window       *sendWindow
	errors       *client.Output // the second stream; nil: there is one
	lease        chan struct{}  // closed when we may type
	hasLease     bool           // it is; of the goroutine that hears
	watches      bool           // and was told that somebody else types; of that, too
	toldWatching bool           // … and has typed all the same, and was told again
	mayType      atomic.Bool    // we may now
	granted      chan struct{}  // … since a moment ago
}

// Attach connects the terminal of the user to the job of the arguments, until one of both ends.
func Attach(a *connect.Command, f *Flags) error {
	job, err := a.Job(a.Ctx, messages.JobID(a.Args[0]))
	if err != nil {
		return err
	}
	if job.State.Ended() {
		return &messages.Error{
			Code: messages.JobFinished, Message: fmt.Sprintf("job %s has finished", job.ID), Hint: "troupe logs " + string(job.ID) + " shows what it printed",
		}
	}
	s := &attachSession{Command: a, screen: terminal.NewPrinter(a.Main), detachKeys: f.leave, typed: cli.IsTerminal(a.Main.In), window: newWindow(), lease: make(chan struct{}), granted: make(chan struct{}, 1)}
	from := job.Output[0].Bytes
	if s.typed && !f.Watch {
		if s.pty = job.Terminal != (messages.Terminal{}); s.pty {
			s.screen.Follows(a.Main)
			from = s.queryModes(job)
		}
	}
	if s.raw = s.pty && s.screen.Out.Terminal; f.Watch {
		begin, leave := s.watchTerminal(job)
		defer leave()
		from = begin
	}
	if text := f.Watch && job.Terminal != (messages.Terminal{}); (s.screen.Out.Terminal || text) && !s.raw {
		s.cleaner = &view.Cleaner{Colours: s.screen.Out.Terminal}
	}
	how := client.AttachOptions{Stream: job.Output[0].Stream, Offset: from, Lease: wire.AttachAsk, Terminal: s.raw && s.pty}
	s.answers, s.shown = -1, how.Offset
	if f.Take {
		how.Lease = wire.AttachTake
	}
	if f.Watch {
		how.Lease = ""
	}
	if s.at, err = a.Attach(a.Ctx, connect.UID(job), how); err != nil {
		return err
	}
	defer s.at.Close()
	if len(job.Output) == 2 {
		if err := s.openStderr(connect.UID(job), job.Output[1]); err != nil {
			return err
		}
		defer s.errors.Close()
	}
	return s.run(connect.UID(job), how.Lease != "")
}

// openStderr opens the stream beside that of the attachment.
func (s *attachSession) openStderr(job messages.JobID, out messages.StreamOutput) (err error) {
	s.errors, err = s.Output(s.Ctx, job, client.Range{Stream: out.Stream, Offset: out.Bytes, Follow: true})
	return err
}

// readStderr shows the second stream to its end.
func (s *attachSession) readStderr() error {
	if s.errors == nil {
		return nil
	}
	r := &logs.Printer{Command: s.Command, To: &s.screen.Err}
	if r.To.Terminal {
		r.Cleaner = &view.Cleaner{Colours: true}
	}
	return r.CopyAll(s.errors)
}

// run shows and types until one of both ends.
func (s *attachSession) run(job messages.JobID, types bool) error {
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	signals := cli.Listen()
	defer signals.Close()
	restore := func() {}
	if types { // before anything is shown: whoever sees it may type
		if s.pty {
			restore = terminal.RawKeyboard(s.Main, s.screen)
			s.enterModes()
		} else {
			restore = terminal.LineKeyboard(s.Main, s.screen)
		}
		defer restore()
	}
	heard := make(chan error, 1)
	second := make(chan error, 1)
	go func() { second <- s.readStderr() }()
	go func() {
		err := s.readOutput(ctx)
		var end cli.ExitStatus
		if err == nil || errors.As(err, &end) && !errors.Is(err, out.ErrSIGPIPE) { // the other stream may go on for a little
			err = cmp.Or(<-second, err)
		}
		heard <- err
	}()
	left := make(chan error, 1)
	if types {
		go s.resizes(ctx)
		go func() { left <- s.forwardInput(ctx, job) }()
	}
	select {
	case err := <-heard:
		var end cli.ExitStatus
		s.screen.GivesBack(!errors.As(err, &end), signals) // it goes on, as far as is known
		if signals.HungUp(err) || signals.Got != 0 {
			return cli.ExitStatus(cli.SignalBase + int(signals.Got)) // what it ended with nobody reads
		}
		return err
	case err := <-left:
		signals.Detached.Store(true)
		s.screen.GivesBack(true, signals)
		restore()
		if err == nil {
			s.screen.Notef("left job %s as it is", s.Args[0])
		}
		return err
	case sig := <-signals.Heard:
		signals.First(sig)
		s.screen.GivesBack(true, signals)
		return cli.ExitStatus(cli.SignalBase + int(signals.Got))
	}
}

// readOutput shows what the job prints, and tells of the lease.
func (s *attachSession) readOutput(ctx context.Context) error {
	for {
		h, err := s.at.Next(ctx)
		var closed websocket.CloseError
		switch {
		case errors.As(err, &closed) && closed.Code == websocket.StatusNormalClosure:
			return nil
		case err != nil:
			return s.connError(err)
		case h.Said.Kind == "":
			if err := s.show(h.Data, false); err != nil {
				return out.WriteError(err)
			}
		case h.Said.Kind == wire.AttachEnded:
			return s.ended(h.Said)
		default:
			s.handleMessage(ctx, h.Said)
		}
	}
}

// connError is the error of a connection that broke. A job in the background goes on.
func (s *attachSession) connError(err error) error {
	left := connect.BrokenOff(err)
	left.Hint = "troupe serve starts it again; troupe ps -a then says what became of the job, and troupe attach " + s.Args[0] + " comes back to it"
	return left
}

func (s *attachSession) show(b []byte, last bool) error {
	if s.raw {
		b = s.filter(b)
	}
	return logs.WriteClean(&s.screen.Out, s.cleaner, b, last)
}

// handleMessage says what else is heard.
func (s *attachSession) handleMessage(ctx context.Context, said wire.AttachEvent) {
	switch said.Kind {
	case wire.AttachAnswers:
		s.setAnswering(said)
	case wire.AttachGap:
		s.shown = said.To
		s.screen.Notef("%d bytes were not kept", said.To-said.From)
	case wire.AttachAsked: // we type; whoever wants to must take it
		_ = s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachRefuse})
		s.screen.Notef("somebody else wants to type")
	case wire.AttachWritten:
		s.window.give()
	case wire.AttachLease:
		if s.mayType.Store(said.Held); said.Held {
			select {
			case s.granted <- struct{}{}:
			default:
			}
		}
		if said.Held && !s.hasLease {
			s.hasLease = true
			close(s.lease)
		}
		switch said.Reason {
		case wire.LeaseGranted:
			if s.watches {
				s.screen.Notef("nobody else types any more: now you do")
			}
		case wire.LeaseTaken:
			s.screen.Notef("somebody else types now; you watch")
		case wire.LeaseRefused:
			s.screen.Notef("somebody else types; you watch (troupe attach --take takes it from them)")
			s.refused(ctx)
		}
		s.watches, s.toldWatching = !said.Held, false
	case wire.AttachFailed:
		s.window.give()
		if !s.typed {
			s.window.refuse()
		}
		if s.typed && said.Error != nil && said.Error.Code == messages.Refused && said.Error.Reason == "lease" {
			if s.toldWatching {
				return // each key, and each move of a mouse, is another one
			}
			s.toldWatching = true
		}
		if s.typed || said.Error == nil || said.Error.Code != messages.JobFinished { // that its reader has ended, a pipe does not say either
			s.screen.Notef("%v", said.Error)
		}
	}
}

// ended is the end of the output, with that of the job where it has one.
func (s *attachSession) ended(said wire.AttachEvent) error {
	if err := s.show(nil, true); err != nil {
		return out.WriteError(err)
	}
	if said.Job == nil {
		return nil
	}
	end, err := s.Await(s.Ctx, messages.WaitJobs{Jobs: []messages.JobID{connect.UID(said.Job.Job)}})
	if err != nil || len(end.Jobs) == 0 {
		return err
	}
	if end.Jobs[0].Outcome != messages.Exited {
		s.screen.Unpaint(true)
	}
	return connect.ExitAs(s.Command, end.Jobs[0])
}
