package run

import (
	"cmp"
	"context"
	"errors"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/internal/node"
	"troupe/messages"
)

// leftovers returns how many processes the command has left, unless it may leave them.
func (g *foreground) leftovers(job messages.Record) int {
	if job.End.Children == 0 || messages.OnExit(g.flags.OnExit.Value) == messages.KeepChildren {
		return 0
	}
	if now, err := g.host.job(context.Background()); err == nil && now.State == messages.Retired {
		return 0 // they have exited by themselves
	}
	return int(job.End.Children)
}

// shutdown closes the host and stops what runs in it. A signal skips the grace.
func (g *foreground) shutdown() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	end := make(chan error, 1)
	go func() {
		end <- g.host.shutdown(ctx, messages.ShutdownNode{Reason: "the command has ended", Grace: g.request.Grace})
	}()
	for {
		select {
		case err := <-end:
			return err
		case sig := <-g.signals.Incoming:
			g.signals.First(sig)
			cancel()
		}
	}
}

// report prints how the command ended and returns its exit status. A signal ends the
// wait for the reader of stderr.
func (g *foreground) report(job messages.Record, object *resultObject, left int, shutdown error) error {
	g.signals.Release()
	switch {
	case left > 0 && g.host.ours:
		g.screen.Notef("stopped %s that the command left", out.Plural(left, "background process"))
	case left > 0:
		g.screen.Notef("the command left %s running; troupe stop %s ends what is left", out.Plural(left, "background process"), job.ID)
	}
	g.printSurvivors(shutdown)
	if object != nil {
		g.print(object)
	} else {
		g.printEnd(job)
		g.printGaps(job)
	}
	end := cli.ExitStatus(g.status(job))
	g.signals.WaitWriter(g.screen.Notes.Wait)
	return end
}

// unknown returns the error of a run without a job record.
func (g *foreground) unknown(err error) error {
	switch {
	case !errors.Is(err, givenUp):
	case g.fault != nil:
		err = g.fault
	default:
		return g.givenUp("the command was cancelled before the daemon confirmed it")
	}
	g.signals.Release()
	g.signals.WaitWriter(g.screen.Notes.Wait)
	return err
}

// givenUp reports what a signal has ended before there was a job record, and returns
// its status.
func (g *foreground) givenUp(what string) error {
	g.signals.Release()
	why := *givenUp
	why.Message = what + ": interrupted by " + cli.SignalName(g.signals.Got)
	if g.flags.JSON {
		g.print(out.ErrorObject{V: messages.JSONVersion, Error: why})
	} else {
		g.screen.Notef("%s", why.Message)
	}
	g.signals.WaitWriter(g.screen.Notes.Wait)
	return cli.ExitStatus(cli.SignalBase + int(g.signals.Got))
}

// print writes the object after all notes.
func (g *foreground) print(object any) {
	written := make(chan error, 1)
	read := g.signals.WaitWriter(func() {
		g.screen.Notes.Wait()
		written <- out.WriteJSON(g.main.Out, object)
	})
	if !read {
		g.hurried = true
		g.screen.Notef("stdout is not being read: the result was not written, or only in part")
	} else if err := <-written; err != nil {
		g.fault = &out.OutputError{Err: err}
	}
}

// status returns the exit status for a job that has ended.
func (g *foreground) status(job messages.Record) int {
	switch {
	case errors.Is(g.fault, unix.EPIPE):
		return cli.SignalBase + int(unix.SIGPIPE) // as a command whose reader has gone
	case g.signals.HungUp(errors.Join(g.fault, g.outputErr)):
		return cli.SignalBase + int(unix.SIGHUP)
	case g.outputErr != nil && job.End.Outcome != messages.Cancelled:
		g.screen.Notef("the end of the output was not printed: %v", g.outputErr)
		return cli.StatusOwn
	case g.fault != nil && job.End.Outcome != messages.FailedToStart:
		g.screen.Notef("%v", g.fault)
		return cli.StatusOwn
	case g.signals.Got != 0 && (job.End.Outcome == messages.Cancelled || g.showing > 0 || g.hurried):
		return cli.SignalBase + int(g.signals.Got)
	}
	return job.ExitCode()
}

// printEnd reports why a command did not end by itself, and what the flags of the job
// mean.
func (g *foreground) printEnd(job messages.Record) {
	switch job.End.Outcome {
	case messages.TimedOut:
		if job.End.Cause.By == messages.ByIdle {
			g.screen.Notef("the command printed nothing for %s and was stopped", job.IdleTimeout())
			break
		}
		g.screen.Notef("the command reached its timeout of %s and was stopped", job.Timeout)
	case messages.Cancelled:
		if g.fault == nil {
			g.screen.Notef("the command was stopped: %s", job.End.Cause.Reason)
		}
	case messages.Signaled:
		why := ""
		if job.End.OOM == messages.Yes {
			why = ": out of memory, of the machine or of its memory limit"
		}
		g.screen.Notef("the command was terminated by signal %s%s", job.End.Signal, why)
	case messages.FailedToStart, messages.Lost:
		g.screen.Notef("%v", &job.End.Err)
	}
	if job.HasFlag(messages.FlagLogBlocked) && job.OutputOpen { // a writer still waits for space, or a child holds the output open
		g.screen.Notef("there was no space for the output for a while: its end may be missing")
	}
	for _, s := range job.End.Survivors {
		switch {
		case s.Why != messages.LeftCgroup:
			g.screen.Notef("%v", out.SurvivorError(s))
		case !g.host.ours: // else it was stopped
			g.screen.Notef("process %d of the command still runs: %s (troupe stop %s ends it)", s.PID, s.Why, job.ID)
		}
	}
	if job.HasFlag(messages.FlagReplaced) {
		g.screen.Notef("session %s lost its shell: the command ran in a new one, in %s, without the functions and variables that were not exported", job.Session, job.Dir)
	}
	if job.HasFlag(messages.FlagNoSnapshot) {
		g.screen.Notef("session %s: shell setup not loaded: %s", job.Session, cmp.Or(g.unset, "unknown reason"))
	}
	for _, flag := range job.Flags {
		if text, ok := flagTexts[flag]; ok {
			g.screen.Notef("%s", text)
		}
	}
}

// flagTexts are the notes for the flags that a user should know.
var flagTexts = map[messages.Flag]string{
	messages.FlagErrexit:        "set -e ended the command; the shell of its session goes on",
	messages.FlagTreeUnverified: "troupe could not follow every process of the command: some may still run",
	messages.FlagLogTampered:    "the log was changed by another program: some of the output may be wrong",
	messages.FlagLogUnlinked:    "the log was deleted while the command ran: some of the output may be missing",
	messages.FlagOutputLost:     "the keeper died while the command ran: its output, or a part of it, is lost",
	messages.FlagSignalRefused:  "the keeper refused a signal from the command: it holds the jobs of all clients",
	messages.FlagKeeperFault:    "troupe failed while the command ran: some of the output may be missing",
}

// printGaps reports how many bytes were dropped before they were shown.
func (g *foreground) printGaps(job messages.Record) {
	lost := int64(0)
	for _, relay := range g.relays {
		lost += relay.lost.Load()
	}
	if lost > 0 {
		g.screen.Notef("%s of the output were left out%s", humanize.IBytes(uint64(lost)), out.WhyLost(job))
	}
}

// printSurvivors reports the processes that survived the shutdown.
func (g *foreground) printSurvivors(shutdown error) {
	var left *node.SurvivorsError
	switch {
	case shutdown == nil:
	case errors.As(shutdown, &left):
		for _, s := range left.Survivors {
			g.screen.Notef("%v", out.SurvivorError(s))
		}
	case errors.Is(shutdown, context.Canceled): // a signal has cut the shutdown short
	default:
		g.screen.Notef("%v", shutdown)
	}
}
