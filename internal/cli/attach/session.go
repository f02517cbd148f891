package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/coder/websocket"

	"troupe/client"
	"troupe/host"
	"troupe/internal/api"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/logs"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
	"troupe/spill/view"
)

// Flags holds the flags of attach.
type Flags struct {
	Watch, Take bool
	Keys        string
	leave       []byte // bytes of Keys
}

// Check rejects contradictory flags and parses the detach keys.
func (f *Flags) Check(a *connect.Command) (err error) {
	switch {
	case a.JSON:
		return messages.Invalid("json", "attach prints what the job prints and has no JSON output; use troupe show --json")
	case f.Watch && f.Take:
		return messages.Invalid("lease", "--watch and --take contradict each other; give one of them")
	}
	f.leave, err = terminal.ParseKeys(f.Keys)
	return err
}

// attachSession is one attachment of this terminal to a job.
type attachSession struct {
	*connect.Command
	at           *client.Attachment
	screen       *terminal.Printer
	detachKeys   []byte
	cleaner      *view.Cleaner       // makes text of terminal output; nil: bytes unchanged
	size         messages.Terminal   // last size sent to the job's terminal
	pty          bool                // we type at the job's terminal; ours is in raw mode
	modes        string              // sequences that give our terminal the state of the job's
	raw          bool                // our terminal shows the bytes of the job's
	queryFilter  view.TerminalFilter // removes queries that other terminals answer
	answers      int64               // first byte whose queries our terminal answers; -1: none
	shown        int64               // offset of the output received so far
	typed        bool                // stdin is a terminal; input that cannot be sent is dropped with a note
	window       *sendWindow
	errors       host.Reader    // the second stream; nil: one stream
	lease        chan struct{}  // closed at the first grant of the input lease
	hasLease     bool           // lease is closed; of the receiving goroutine
	watches      bool           // another client has the lease; of the receiving goroutine
	refusalNoted bool           // a refused key was reported; of the receiving goroutine
	mayType      atomic.Bool    // we hold the lease
	granted      chan struct{}  // receives each grant of the lease; capacity 1
	inputEnd     chan struct{}  // closed at the end of input that is not typed
	job          messages.JobID // its ULID
	base         atomic.Int64   // input of the job before ours, in bytes; -1: unknown
}

// Attach connects the user's terminal to the job of the arguments, until the job ends or
// the user leaves.
func Attach(a *connect.Command, f *Flags) error {
	found, err := host.Ask(a.Ctx, a.Host(), messages.FindJob{Job: messages.JobID(a.Args[0])})
	if err != nil {
		return err
	}
	job := found.Job
	if job.State.Ended() {
		return &messages.Error{
			Code: messages.JobFinished, Message: fmt.Sprintf("job %s has finished", job.ID), Hint: "troupe logs " + string(job.ID) + " shows its output",
		}
	}
	s := &attachSession{Command: a, screen: terminal.NewPrinter(a.Main), detachKeys: f.leave, typed: cli.IsTerminal(a.Main.In), window: newWindow(), lease: make(chan struct{}), inputEnd: make(chan struct{}), granted: make(chan struct{}, 1)}
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
		s.cleaner = &view.Cleaner{Colours: s.screen.Out.Terminal, Final: s.screen.Out.Terminal, Cols: job.Terminal.Cols}
	}
	how := client.AttachOptions{Stream: job.Output[0].Stream, Offset: from, Lease: api.AttachAsk, Terminal: s.raw && s.pty}
	s.answers, s.shown = -1, how.Offset
	if f.Take {
		how.Lease = api.AttachTake
	}
	if f.Watch {
		how.Lease = ""
	}
	s.job = connect.UID(job)
	s.base.Store(-1)
	if s.at, err = a.Attach(a.Ctx, s.job, how); err != nil {
		return err
	}
	defer s.at.Close()
	if len(job.Output) == 2 {
		if err := s.openStderr(connect.UID(job), job.Output[1]); err != nil {
			return err
		}
		defer s.errors.Close()
	}
	if s.typed && how.Lease != "" && s.screen.Err.Terminal {
		s.screen.Notef("attached to job %s: %s", job.ID, s.keys(f.Keys))
		s.screen.Notes.Wait() // before the terminal is raw
	}
	return s.run(connect.UID(job), how.Lease != "")
}

// keys says how to leave the job, and what Ctrl-C does.
func (s *attachSession) keys(leave string) string {
	leaves := "no keys leave it"
	if len(s.detachKeys) > 0 {
		leaves = strings.ReplaceAll(leave, ",", " ") + " leaves it running"
	}
	if s.pty {
		return leaves + ", and Ctrl-C goes to the job"
	}
	return leaves + ", Ctrl-C sends it INT, and Ctrl-D closes its input"
}

// openStderr opens the second stream, which the attachment does not carry.
func (s *attachSession) openStderr(job messages.JobID, out messages.StreamOutput) (err error) {
	s.errors, err = s.Host().Output(s.Ctx, job, out.Stream, out.Bytes)
	return err
}

// readStderr prints the second stream to its end.
func (s *attachSession) readStderr() error {
	if s.errors == nil {
		return nil
	}
	r := &logs.Printer{Command: s.Command, To: &s.screen.Err}
	if s.screen.Err.Terminal {
		r.Cleaner = &view.Cleaner{Colours: true, Final: true}
	}
	if err := r.CopyAll(s.errors); err != nil {
		return err
	}
	r.PrintGaps(s.errors.Gaps())
	return nil
}

// run prints output and forwards input until the job ends, the user leaves, or a signal
// arrives.
func (s *attachSession) run(job messages.JobID, types bool) error {
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	signals := cli.Listen()
	defer signals.Close()
	restore := func() {}
	if types { // before any output: a user may type as soon as it is visible
		if s.pty {
			restore = terminal.RawKeyboard(s.Main, s.screen)
			s.enterModes()
		} else {
			restore = terminal.LineKeyboard(s.Main, s.screen)
		}
		defer restore()
	}
	outputEnd := make(chan error, 1)
	second := make(chan error, 1)
	go func() { second <- s.readStderr() }()
	go func() {
		err := s.readOutput(ctx)
		var end cli.ExitStatus
		if err == nil || errors.As(err, &end) && !errors.Is(err, out.ErrSIGPIPE) { // the other stream can end later
			err = cmp.Or(<-second, err)
		}
		outputEnd <- err
	}()
	left := make(chan error, 1)
	if types {
		go s.resizes(ctx)
		go func() { left <- s.forwardInput(ctx, job) }()
	}
	select {
	case err := <-outputEnd:
		var end cli.ExitStatus
		s.screen.GivesBack(!errors.As(err, &end), signals) // without an exit status the job may still run
		if signals.HungUp(err) || signals.Got != 0 {
			return cli.ExitStatus(cli.SignalBase + int(signals.Got)) // the terminal is gone, so is any reader of the error
		}
		return err
	case err := <-left:
		signals.Detached.Store(true)
		s.screen.GivesBack(true, signals)
		restore()
		if err == nil {
			s.screen.Notef("left job %s, which continues; troupe attach %s comes back", s.Args[0], s.Args[0])
		}
		return err
	case sig := <-signals.Incoming:
		signals.First(sig)
		s.screen.GivesBack(true, signals)
		return cli.ExitStatus(cli.SignalBase + int(signals.Got))
	}
}

// readOutput prints the output and handles the other messages of the attachment.
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
		case h.Said.Kind == api.AttachEnded:
			return s.ended(h.Said)
		default:
			s.handleMessage(ctx, h.Said)
		}
	}
}

// connError describes a broken connection and how to find the job again.
func (s *attachSession) connError(err error) error {
	left := connect.BrokenOff(err)
	left.Hint = "restart the daemon with troupe serve; then troupe ps -a shows the job, and troupe attach " + s.Args[0] + " connects to it again"
	return left
}

func (s *attachSession) show(b []byte, last bool) error {
	if s.raw {
		b = s.filter(b)
	}
	return logs.WriteClean(&s.screen.Out, s.cleaner, b, last)
}

// handleMessage handles a message that is neither output nor its end.
func (s *attachSession) handleMessage(ctx context.Context, said api.AttachEvent) {
	switch said.Kind {
	case api.AttachHello:
		s.connected()
	case api.AttachAnswers:
		s.setAnswering(said)
	case api.AttachGap:
		s.shown = said.To
		s.screen.Notef("%d bytes of the output were not kept", said.To-said.From)
	case api.AttachAsked: // we keep the lease; another client must use --take
		s.answer(ctx, api.AttachRefuse)
		s.screen.Notef("another client asks for the input lease; you keep it")
	case api.AttachWritten:
		s.window.give()
	case api.AttachLease:
		if s.mayType.Store(said.Held); said.Held {
			select {
			case s.granted <- struct{}{}:
			default:
			}
		}
		if said.Held && !s.hasLease {
			s.hasLease = true
			close(s.lease)
		} else if said.Held {
			s.closeAgain(ctx)
		}
		switch said.Reason {
		case api.LeaseGranted:
			if s.watches {
				s.screen.Notef("you have the input lease now and can type")
			}
		case api.LeaseTaken:
			s.screen.Notef("another client took the input lease; read-only (take it back: troupe attach --take %s)", s.Args[0])
		case api.LeaseRefused:
			if !s.watches { // else it is refused again by the next daemon
				s.screen.Notef("another client has the input lease; read-only (take it: troupe attach --take %s)", s.Args[0])
			}
			s.refused(ctx)
		}
		s.watches, s.refusalNoted = !said.Held, false
	case api.AttachFailed:
		s.window.give()
		if !s.typed {
			s.window.refuse()
		}
		if s.typed && said.Error != nil && said.Error.Code == messages.Refused && said.Error.Reason == "lease" {
			if s.refusalNoted {
				return // each key and mouse event would repeat the note
			}
			s.refusalNoted = true
		}
		if s.typed || said.Error == nil || said.Error.Code != messages.JobFinished { // input to a finished job is discarded without a note
			s.screen.Notef("%v", said.Error)
		}
	}
}

// connected takes the begin of a connection. Input that the former daemon has not acknowledged
// may be lost. What is typed goes on then, other input ends: later input would follow a gap.
func (s *attachSession) connected() {
	s.mayType.Store(false) // until the lease is granted
	if s.window.clear() > 0 && !s.typed && !s.delivered() {
		s.window.refuse()
		s.screen.Notef("the daemon ended while input was sent to the job: the rest of it is not sent")
	}
}

// delivered reports whether the job has all input that was sent to former daemons.
func (s *attachSession) delivered() bool {
	base, sent := s.base.Load(), s.at.SentBefore()
	written, err := host.Ask(s.Ctx, s.Host(), messages.WriteInput{Job: s.job})
	return base >= 0 && err == nil && written.Through-base >= sent
}

// closeAgain asks the next daemon to close the job's input if it has ended: the former daemon may
// have ended before it did so. Lost input stays open.
func (s *attachSession) closeAgain(ctx context.Context) {
	select {
	case <-s.window.lost:
		return
	default:
	}
	select {
	case <-s.inputEnd:
		s.answer(ctx, api.AttachCloseInput)
	default:
	}
}

// answer sends a request from the goroutine that receives, which must not wait for a connection.
func (s *attachSession) answer(ctx context.Context, kind string) {
	go func() { _ = s.at.Say(ctx, api.AttachRequest{Kind: kind}) }()
}

// ended finishes the output, waits for the job's record and exits with its status. Without a
// job in the message it returns nil.
func (s *attachSession) ended(said api.AttachEvent) error {
	if err := s.show(nil, true); err != nil {
		return out.WriteError(err)
	}
	if said.Job == nil {
		return nil
	}
	end, err := host.Ask(s.Ctx, s.Host(), messages.WaitJobs{Jobs: []messages.JobID{connect.UID(*said.Job)}})
	if err != nil || len(end.Jobs) == 0 {
		return err
	}
	if end.Jobs[0].End.Outcome != messages.Exited {
		s.screen.Unpaint(true)
	}
	return connect.ExitAs(s.Command, end.Jobs[0])
}
