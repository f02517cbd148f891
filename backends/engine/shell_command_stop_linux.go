package engine

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// comesBack is how long a shell may take to report the end of a command of which it was
// sent an INT and everything was killed. Then it is ended itself.
const comesBack = time.Second

// climb walks the ladder of a command: it is interrupted, at 40 % of the grace what it
// runs is asked to end, at the end of it killed. The shell is let alone as long as it
// comes back. A rung on which nobody is left is none: the cause names what was sent.
func (s *shellCommand) climb(l *escalation) {
	j := s.job
	j.mu.Lock()
	grace := time.Until(l.until) > 0
	j.mu.Unlock()
	j.setCause(l)
	if grace {
		j.signalStep(l, "INT", s.interrupt)
		if j.waitStep(l, broadcastPoint, s.released) { // what does not end with the shell's command is asked at once
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
		s.killAll() // its output may be held up
	}
	bound := time.NewTimer(comesBack)
	defer bound.Stop()
	select {
	case <-l.done:
		return
	case <-bound.C:
	}
	if !s.isOver() {
		j.signalStep(l, "KILL", func() {
			s.shell.job.stop(messages.Cause{By: l.cause.By, Reason: "a command in it could not be ended: " + l.cause.Reason}, 0)
		})
	}
	j.scheduleKillCheck(l)
}

// holdsShell reports whether the shell is at this command still.
func (s *shellCommand) holdsShell() bool {
	s.shell.mu.Lock()
	defer s.shell.mu.Unlock()
	return s.isAt()
}

// isAt is holdsShell, called with shell.mu.
func (s *shellCommand) isAt() bool { return s.shell.current == s && s.sent }

// killAll kills what the command runs, and interrupts the shell.
func (s *shellCommand) killAll() {
	s.job.tree.kill()
	s.unstick()
	s.poke()
}

// runs reports whether the command has processes of its own.
func (s *shellCommand) runs() bool { return len(s.job.tree.(*shellCommandTree).members()) > 0 }

// An interrupt that is sent process by process may come to nothing: a child is not yet
// what it will execute, and drops it, or ends before, and a shell that sees a child end
// well goes on. So who has come since is interrupted, too, a few times.
const (
	interrupts     = 4
	interruptPause = 20 * time.Millisecond // doubled each time
)

// interrupt is a ^C: for all that the command runs, and the shell.
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

// executed is a process at one program: it may drop what was sent to it before.
type executed struct {
	pid      int
	start    uint64
	dev, ino uint64
}

// executedBy says what a process is at. One that cannot be seen is as good as the same.
func executedBy(sys Sys, p proc) executed {
	var st unix.Stat_t
	_ = sys.StatAt(unix.AT_FDCWD, procPath(p.pid, "exe"), &st)
	return executed{p.pid, p.start, st.Dev, st.Ino}
}

// interruptNew interrupts those of the command's processes that were not before, and
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
	w.send(procs, unix.SIGINT, unix.SIGCONT)
	return len(procs) > 0
}

// pokeOnPipes pokes a shell that no terminal interrupts with its command.
func (s *shellCommand) pokeOnPipes() {
	if s.part == nil {
		s.poke()
	}
}

// poke interrupts the shell, if it is at this command still, and wakes it: it may have
// been stopped.
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

// signal sends one signal to what the command runs.
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
	w.send(procs, sig)
	return messages.ControlDone{}
}
