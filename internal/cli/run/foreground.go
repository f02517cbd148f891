package run

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// foreground is one command whose result we wait for, in a node of this process or in
// the daemon.
//
//	find a host ─ submit ─ wait ─ flush ─ result ─ shutdown ─ report
//	                 └ a signal, or the loss of our reader, stops the command
type foreground struct {
	main    *cli.Main
	flags   *Flags
	request messages.RunCommand
	screen  *terminal.Printer
	signals *cli.Signals
	host    *jobHost

	job      messages.JobID // its ULID, valid from the start
	relays   []*relay
	relayed  chan error       // one result of each relay
	showing  int              // relays that still run
	fault    error            // first error that stopped the command; nil: none
	killHint <-chan time.Time // fires killHintDelay after a stop; nil: none
	hurried  bool             // a signal has cut the result short

	fatal          chan error // error that must stop the command: its output can never be stored, or our input not be forwarded
	stdinForwarded bool       // our input goes to the command
	outputErr      error      // why the output was not shown to its end; nil: it was
	unset          string     // why the session's shell started without its setup; "": it did not
}

// killHintDelay is the time from a stop to the note that another signal kills the command.
// Most commands end at once.
const killHintDelay = 500 * time.Millisecond

// Execute runs one command and ends with its exit status.
func Execute(m *cli.Main, f *Flags, args []string, argv bool) error {
	r, err := newRequest(m, f, args, argv)
	if err != nil {
		return err
	}
	g := &foreground{main: m, flags: f, request: r, screen: terminal.NewPrinter(m), signals: cli.Listen(), fatal: make(chan error, 1)}
	defer g.signals.Close()
	if err := g.look(g.findHost); err != nil {
		return err
	}
	return g.run()
}

func (g *foreground) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pass, leave := g.attachTerminal(ctx)
	defer leave(true) // only the first call counts
	end := g.submit(ctx)
	pass()
	stopOutputNote := g.warnOutputFull(ctx)
	stopQueueNote := g.warnQueued(ctx)
	stopProgress := g.progress(ctx)
	e := g.wait(end)
	stopProgress()
	stopQueueNote()
	stopOutputNote()
	if e.err != nil {
		cancel()
		leave(g.addReattachHint(&e))
		g.printSurvivors(g.shutdown())
		return g.unknown(e.err)
	}
	g.flush(e.job)
	leave(!e.job.State.Ended() || e.job.End.Outcome != messages.Exited)
	cancel()
	if !e.job.State.Ended() || g.begunBefore(e.job) {
		err := g.tellGoesOn(e.job)
		if e.job.State == messages.Queued {
			g.warnWaiting(context.Background())
		}
		g.printSurvivors(g.shutdown())
		g.signals.WaitWriter(g.screen.Notes.Wait)
		return err
	}
	var object *resultObject
	if g.flags.JSON {
		object = g.object(e.job, g.result)
	}
	left := g.leftovers(e.job)
	g.unset = g.snapshotError(e.job)
	return g.report(e.job, object, left, g.shutdown())
}

// begunBefore reports whether a background run is complete: its command has started.
// With a repeated key the command may have ended already.
func (g *foreground) begunBefore(job messages.Record) bool {
	return g.request.Mode.Background() && !job.Started.IsZero() && g.signals.Got == 0 && g.fault == nil
}

// ended is the reply to the run.
type ended struct {
	job messages.Record
	err error
}

// submit sends the request and starts to show the output.
func (g *foreground) submit(ctx context.Context) <-chan ended {
	wait := g.host.submit(g.request)
	g.job = g.host.id
	end := make(chan ended, 1)
	go func() {
		job, err := wait()
		end <- ended{job, err}
	}()
	g.feed(ctx)
	if g.flags.JSON || g.request.Mode.Background() {
		return end
	}
	panes := map[messages.Stream]*terminal.Stream{messages.Merged: &g.screen.Out}
	if g.request.Streams == messages.SeparateStreams {
		panes = map[messages.Stream]*terminal.Stream{messages.Stdout: &g.screen.Out, messages.Stderr: &g.screen.Err}
	}
	g.relayed, g.showing = make(chan error, len(panes)), len(panes)
	node, patience := g.host.pacer(g.host)
	hold, most := &outputPauser{node: node, job: g.job}, behindFor(g.request.Quota)
	for stream, to := range panes {
		relay := newRelay(ctx, g.host, stream, to, hold, most, patience)
		g.relays = append(g.relays, relay)
		go func() { g.relayed <- relay.show(ctx) }()
	}
	return end
}

// wait waits for the reply and handles signals and errors meanwhile.
func (g *foreground) wait(end <-chan ended) ended {
	for {
		select {
		case e := <-end:
			return e
		case sig := <-g.signals.Incoming:
			g.interrupt(sig)
		case <-g.killHint:
			g.screen.Notef("%s: stopping the command; a second signal kills it", cli.SignalName(g.signals.Got))
		case err := <-g.relayed:
			g.relayDone(err)
		case err := <-g.fatal:
			if g.signals.Got == unix.SIGHUP {
				continue // the input ended with the terminal, and the command is being stopped
			}
			g.fail(err, err.Error())
		}
	}
}

// flush shows the rest of what the command had written when it ended. It does not show
// later output of leftover processes. A signal limits its time: the reader may never
// return.
func (g *foreground) flush(job messages.Record) {
	sizes := map[messages.Stream]int64{}
	for _, out := range job.Output {
		sizes[out.Stream] = out.Bytes
	}
	for _, relay := range g.relays {
		relay.finish(sizes[relay.stream])
	}
	late := g.signals.Late()
	for g.showing > 0 {
		select {
		case err := <-g.relayed:
			g.relayDone(err)
			continue
		case sig := <-g.signals.Incoming:
			g.signals.First(sig)
		case <-late:
		}
		g.screen.Notef("the output is not being read; the rest of it was not printed")
		return
	}
}

// relayDone handles the end of a relay. If the reader has gone it stops the command, as
// SIGPIPE would stop one that writes to the reader itself.
func (g *foreground) relayDone(err error) {
	g.showing--
	if errors.Is(err, connect.DaemonLeft) {
		g.outputErr = err // the reply to the run says more, if there is one
		return
	}
	if err != nil {
		g.fail(err, "its output can no longer be printed: "+err.Error())
	}
}

// abort makes wait stop the command for an error of troupe. It never blocks: the first
// error is enough, and wait may have returned.
func (g *foreground) abort(err error) {
	select {
	case g.fatal <- err:
	default:
	}
}

// fail stops the command for an error of troupe. It keeps the first one.
func (g *foreground) fail(err error, reason string) {
	if g.fault == nil {
		g.fault = err
		g.stop(0, reason)
	}
}

// interrupt stops the command; a second signal, or QUIT, kills it.
func (g *foreground) interrupt(sig os.Signal) {
	g.screen.Echoed(sig)
	reason := "interrupted by " + cli.SignalName(sig)
	if !g.signals.First(sig) || sig == unix.SIGQUIT {
		g.killHint = nil
		g.stop(-1, reason)
		return
	}
	g.killHint = time.After(killHintDelay)
	g.stop(0, reason)
}

// stop sends a stop and does not wait for it.
func (g *foreground) stop(grace time.Duration, reason string) {
	go g.host.stop(context.Background(), grace, reason)
}
