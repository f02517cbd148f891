package engine

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// commandStopTimeout is how long a shell may take to report the end of a command after
// INT and KILL. Then the shell is stopped.
const commandStopTimeout = time.Second

// escalate stops a command: it sends INT, at 40 % of the grace TERM, and at its end
// KILL. The shell is spared as long as it reports the end. Without processes left a
// step is skipped, so that the cause names what was sent.
func (s *shellCommand) escalate(l *escalation) {
	j := s.job
	j.mu.Lock()
	grace := time.Until(l.until) > 0
	j.mu.Unlock()
	j.setCause(l)
	if grace {
		j.signalStep(l, "INT", s.interrupt)
		if j.waitStep(l, broadcastPoint, s.released) { // processes that outlive the command get TERM at once
			return
		}
		if j.graceLeft(l) {
			if s.runs() {
				j.signalStep(l, "TERM", j.termAll)
			}
			if j.waitStep(l, 1, nil) {
				return
			}
		}
	}
	switch {
	case s.runs():
		j.signalStep(l, "KILL", s.killAll)
	case s.holdsShell():
		j.signalStep(l, "INT", s.killAll)
	default:
		s.killAll() // its output may be paused
	}
	bound := time.NewTimer(commandStopTimeout)
	defer bound.Stop()
	select {
	case <-l.done:
		return
	case <-bound.C:
	}
	if !s.isOver() {
		j.signalStep(l, "KILL", func() {
			s.shell.job.stop(messages.Cause{By: l.cause.By, Reason: "a command in it did not end: " + l.cause.Reason}, 0)
		})
	}
	j.scheduleKillCheck(l)
}

// holdsShell reports whether the shell still runs this command.
func (s *shellCommand) holdsShell() bool {
	s.shell.mu.Lock()
	defer s.shell.mu.Unlock()
	return s.isAt()
}

// isAt does the work of holdsShell for a caller that holds shell.mu.
func (s *shellCommand) isAt() bool { return s.shell.current == s && s.sent }

// killAll kills the command's processes and interrupts the shell.
func (s *shellCommand) killAll() {
	s.job.tree.kill()
	s.unstick()
	s.poke()
}

// runs reports whether the command has processes of its own.
func (s *shellCommand) runs() bool { return len(s.job.tree.(*shellCommandTree).members()) > 0 }

// An interrupt sent process by process may have no effect: a child drops it before its exec,
// or exits with success, and the shell continues. So new processes are interrupted, too, a
// few times.
const (
	interrupts     = 4
	interruptPause = 20 * time.Millisecond // doubled each time
)

// interrupt sends INT to all processes of the command and the shell, as ^C does.
func (s *shellCommand) interrupt() {
	sent := map[executed]bool{}
	s.interruptNew(sent)
	s.pokeOnPipes()
	s.job.engine.run(s.job, func() {
		pause := interruptPause
		for range interrupts {
			t := time.NewTimer(pause)
			pause *= 2
			select {
			case <-t.C:
			case <-s.released:
			case <-s.job.engine.done:
			}
			t.Stop()
			if isClosed(s.released) || s.job.engine.over() {
				return
			}
			if s.interruptNew(sent) {
				s.pokeOnPipes()
			}
		}
	})
}

// executed identifies a process and its program: after an exec it may have dropped a
// signal.
type executed struct {
	pid      int
	start    uint64
	dev, ino uint64
}

// executedBy returns the identity of a process. A program that cannot be seen counts as
// the same.
func executedBy(sys Sys, p proc) executed {
	var st unix.Stat_t
	_ = sys.StatAt(unix.AT_FDCWD, procPath(p.pid, "exe"), &st)
	return executed{p.pid, p.start, st.Dev, st.Ino}
}

// interruptNew interrupts the command's processes that were not interrupted before. It
// reports whether there was one.
func (s *shellCommand) interruptNew(sent map[executed]bool) (some bool) {
	s.scanMu.Lock()
	defer s.scanMu.Unlock()
	if s.part != nil {
		return s.interruptFront(sent)
	}
	w := s.job.tree.(*shellCommandTree)
	var procs []proc
	for _, p := range w.members() {
		if id := executedBy(s.job.engine.opt.Sys, p); !sent[id] {
			sent[id] = true
			procs = append(procs, p)
		}
	}
	s.job.engine.host.send(procs, unix.SIGINT, unix.SIGCONT)
	return len(procs) > 0
}

// pokeOnPipes pokes a shell without a terminal, which would interrupt it with its
// command.
func (s *shellCommand) pokeOnPipes() {
	if s.part == nil {
		s.poke()
	}
}

// poke interrupts the shell if it still runs this command, and continues it if it was
// stopped.
func (s *shellCommand) poke() {
	s.shell.mu.Lock()
	defer s.shell.mu.Unlock()
	if s.isAt() {
		s.shell.noteInterrupt()
		s.shell.job.proc.signal(unix.SIGINT, false)
		s.shell.job.proc.signal(unix.SIGCONT, false)
	}
}

func (s *shellCommand) isOver() bool {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	return s.shellDone
}

// signal sends one signal to the command's processes.
func (s *shellCommand) signal(sig syscall.Signal) messages.ProcessFact {
	if sig == unix.SIGINT {
		s.job.acts()
		s.interrupt()
		return messages.ControlDone{}
	}
	s.scanMu.Lock()
	defer s.scanMu.Unlock()
	w := s.job.tree.(*shellCommandTree)
	procs := w.members()
	if len(procs) == 0 {
		return messages.ControlRefused{Err: messages.Error{
			Code: messages.Refused, Reason: "no_process", Message: errNoProcess.Error(), Hint: "interrupt it with INT, or stop it",
		}}
	}
	s.job.acts()
	s.job.engine.host.send(procs, sig)
	return messages.ControlDone{}
}
