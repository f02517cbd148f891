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
// comes back.
func (s *section) climb(l *ladder) {
	j := s.job
	j.mu.Lock()
	grace := time.Until(l.until) > 0
	j.mu.Unlock()
	j.blame(l)
	if grace {
		j.rung(l, "INT", s.interrupt)
		if j.rest(l, secondRung, s.back) { // what does not end with the shell's command is asked at once
			return
		}
		if j.remains(l) {
			j.rung(l, "TERM", j.askAll)
			if j.rest(l, 1, nil) {
				return
			}
		}
	}
	j.rung(l, "KILL", func() {
		j.tree.kill()
		s.poke()
	})
	bound := time.NewTimer(comesBack)
	defer bound.Stop()
	select {
	case <-l.gone:
		return
	case <-bound.C:
	}
	if !s.isOver() {
		s.shell.job.stop(messages.Cause{By: l.cause.By, Reason: "a command in it could not be ended: " + l.cause.Reason}, 0)
	}
	if !j.comesDown(l) {
		j.nameSurvivors()
	}
}

// interrupt is a ^C: for all that the command runs, and the shell.
func (s *section) interrupt() {
	s.poke() // first: what it starts afterwards it would have to wait for
	s.job.tree.signal(unix.SIGINT, unix.SIGCONT)
}

// poke interrupts the shell, if it is at this command still, and wakes it: it may have
// been stopped.
func (s *section) poke() {
	s.shell.mu.Lock()
	defer s.shell.mu.Unlock()
	if s.shell.cmd == s && s.given {
		s.shell.job.root.signal(unix.SIGINT, false)
		s.shell.job.root.signal(unix.SIGCONT, false)
	}
}

func (s *section) isOver() bool {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	return s.over
}

// signal sends one signal to what the command runs.
func (s *section) signal(sig syscall.Signal) messages.ProcessFact {
	if sig == unix.SIGINT {
		s.interrupt()
		return messages.ControlDone{}
	}
	w := s.job.tree.(*inShell)
	procs := w.members()
	if len(procs) == 0 {
		return messages.ControlRefused{Err: messages.Error{
			Code: messages.Refused, Reason: "no_process", Message: errNoProcess.Error(), Hint: "interrupt it with INT, or stop it",
		}}
	}
	w.send(procs, sig)
	return messages.ControlDone{}
}
