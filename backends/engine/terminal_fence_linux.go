package engine

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// A command in a live shell on a terminal has no pipes: its input is typed, and its
// output is a part of what comes from the terminal.

// fenceBound is how long the fence of a command may take behind its status. The kernel
// hands on what was written in its order, so that it is there as a rule.
const fenceBound = 200 * time.Millisecond

// fits says why a command cannot run in the shell: it asks for a terminal and there is
// none, or the other way round.
func (sh *liveShell) fits(spec *backends.Spec) *startError {
	asks := spec.Stdio.Terminal != messages.Terminal{}
	switch {
	case asks && sh.master == nil:
		return refused(messages.Unsupported, "terminal", "the live shell of the command is on pipes and has no terminal")
	case !asks && sh.master != nil:
		return refused(messages.InvalidParams, "terminal", "the live shell of the command is on a terminal: say how large that is to be")
	}
	return nil
}

// attachTerminal makes what a command on the terminal of its shell has of its own: a log, and its
// own account of what is typed.
func (s *shellCommand) attachTerminal(spec *backends.Spec) *startError {
	m := s.shell.master
	if m.stuck() {
		return resourceMissing("log for the output of the shell", errBlocked)
	}
	log, err := s.job.engine.opt.Store.Create(string(s.job.id), uint8(messages.Merged), spec.Log)
	if err != nil {
		return resourceMissing("log for the output", err)
	}
	s.part = newPart(s.job, m, log, s.nonce)
	s.part.durable = isDurable(spec)
	s.stdio.streams = append(s.stdio.streams, s.part)
	s.stdio.term = &terminal{end: &m.end, modes: s.shell.term.modes}
	s.stdio.stdin = &pipeEnd{master: &m.end}
	s.size = spec.Stdio.Terminal
	return nil
}

// anyLives reports whether one of some processes lives.
func (s *shellCommand) anyLives(some []proc) bool {
	for _, was := range some {
		if p, ok := statProc(s.job.engine.opt.Sys, was.pid); ok && p.start == was.start && !p.dead() {
			return true
		}
	}
	return false
}

// errBlocked is a log that takes nothing now.
var errBlocked = errors.New("the disk has no room")

// acquireTerminal gives the command the terminal as the shell had found it, whatever the command
// before has made of it and has left unread.
func (s *shellCommand) acquireTerminal() {
	m, t := s.shell.master, s.stdio.term
	m.beginSection(s.part)
	t.end.use(func(master int) {
		modes := t.modes
		_ = t.end.sys.FlushInput(master)
		_ = t.end.sys.SetModesFlush(master, &modes)
		_ = t.end.sys.SetSize(master, uint16(s.size.Rows), uint16(s.size.Cols))
	})
}

// reported takes the status that the shell has reported: what it wrote before is the
// command's, as far as the fence.
func (s *shellCommand) reported(end mainExit) {
	m := s.shell.master
	if m.cutQuickly() {
		s.finished(end)
		return
	}
	s.job.engine.run(s.job, func() {
		s.awaitFence()
		s.finished(end)
	})
}

// cutQuickly is cut in a goroutine that serves all jobs: it reports false if that may take
// a while, too.
func (s *stream) cutQuickly() bool {
	v, grown := s.moveQuickly()
	grown.tell()
	if v != empty && v != ended || !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	if p := s.current.Load(); p != nil && p.slow() {
		return false
	}
	done, _ := s.cutPart()
	return done
}

// awaitFence moves what comes until the fence is there, and cuts the log. One that does
// not come was lost: the command has closed what the shell writes to, or its log is full.
func (s *shellCommand) awaitFence() {
	m := s.shell.master
	expired, done := s.job.drainTimeout()
	defer done()
	bound := time.NewTimer(fenceBound)
	defer bound.Stop()
	for pause := retryFirst; ; {
		v := m.step()
		cut, err := m.cut()
		switch {
		case cut:
			return
		case v == blocked || isBlocked(err):
			if m.await(pause, expired) {
				pause = min(2*pause, retryLast)
				bound.Reset(fenceBound)
				continue
			}
		case v == more && !isDue(bound):
			continue
		case v != capped && v != ended && s.stirs(bound):
			continue
		}
		s.giveUp()
		return
	}
}

// stirs waits until more has come from the terminal, and reports false if nothing did in
// time.
func (s *shellCommand) stirs(bound *time.Timer) bool {
	select {
	case <-s.part.moves:
		return true
	case <-bound.C:
	case <-s.job.engine.done:
	}
	return false
}

// isDue reports whether a timer has expired.
func isDue(t *time.Timer) bool {
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

func isBlocked(err error) bool {
	var b *spill.Blocked
	return errors.As(err, &b)
}

// giveUp ends the log where it is.
func (s *shellCommand) giveUp() {
	if !s.shell.master.endSection(s.part) {
		s.job.mu.Lock()
		s.job.flag(messages.FlagNoFence)
		s.job.mu.Unlock()
	}
}

// finished frees the shell for the next command, and tells the end of this one.
func (s *shellCommand) finished(end mainExit) {
	s.shell.mu.Lock()
	if s.shell.current == s {
		s.shell.current, s.shell.previous = nil, s
	}
	s.shell.mu.Unlock()
	s.ended(end, false)
}

// cutOff is the end of a command whose shell has died: all that the terminal held is its
// output.
func (s *shellCommand) cutOff(end mainExit) {
	m := s.shell.master
	v, grown := m.moveQuickly()
	grown.tell()
	if v == ended {
		m.endSection(s.part)
		s.ended(end, true)
		return
	}
	s.job.engine.run(s.job, func() {
		expired, done := s.job.drainTimeout()
		m.drainTerminal(expired)
		done()
		m.endSection(s.part)
		s.ended(end, true)
	})
}

// releaseTerminal keeps what was typed for the command from the next.
func (s *shellCommand) releaseTerminal() {
	in := s.job.input
	in.writing.Lock()
	in.cut = true
	in.writing.Unlock()
	if s.stdio.term.keys.Load() { // one of them may have been that for an interrupt
		s.shell.mu.Lock()
		s.shell.noteInterrupt()
		s.shell.mu.Unlock()
	}
	s.shell.master.end.nudge()
}

// interruptFront is a ^C: for who is in the foreground of the terminal, which may be the
// shell. It reports whether somebody is there who was not interrupted before.
func (s *shellCommand) interruptFront(sent map[executed]bool) (some bool) {
	front := s.job.foreground()
	sys := s.job.engine.opt.Sys
	var procs []proc
	for _, pid := range s.job.tree.pids() {
		p, ok := statProc(sys, pid)
		if !ok || p.pgid != front || front == 0 {
			continue
		}
		procs = append(procs, p)
		if id := executedBy(sys, p); !sent[id] {
			sent[id], some = true, true
		}
	}
	if !some {
		return false
	}
	s.shell.mu.Lock()
	if s.shell.current == s && s.sent {
		s.shell.noteInterrupt()
		s.stdio.term.end.use(func(master int) {
			_ = sys.SignalForeground(master, unix.SIGINT)
			s.stdio.term.goOn(master)
		})
	}
	s.shell.mu.Unlock()
	s.job.tree.(*shellCommandTree).send(procs, unix.SIGCONT)
	return true
}

// goOn has a terminal go on whose output was stopped with ^S, as the key for an interrupt
// does: by the key for that, which no program reads where the other works.
func (t *terminal) goOn(master int) {
	modes, err := t.end.sys.Modes(master)
	if err == nil && modes.Iflag&unix.IXON != 0 && modes.Cc[unix.VSTART] != disabled {
		_, _ = t.end.sys.Write(master, modes.Cc[unix.VSTART:unix.VSTART+1])
	}
}

// unstick has a terminal go on whose output was stopped with ^S, or whose log takes no
// more: the shell waits for it.
func (s *shellCommand) unstick() {
	t := s.stdio.term
	if t == nil || s.isOver() {
		return
	}
	if s.part.blocked.Load() != nil {
		s.giveUp()
	}
	t.end.use(func(master int) {
		_ = t.end.sys.FlushInput(master) // a ^S that the kernel has not come to
		modes := t.modes
		modes.Iflag &^= unix.IXON
		_ = t.end.sys.SetModes(master, &modes)
		modes = t.modes
		_ = t.end.sys.SetModes(master, &modes)
	})
}

// slavePath is the path of a terminal whose master is a descriptor.
func slavePath(sys Sys, master int) (string, error) {
	n, err := sys.TerminalNumber(master)
	return fmt.Sprintf("/dev/pts/%d", n), err
}
