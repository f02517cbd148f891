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

// A command in a live shell on a terminal has no pipes: its input is typed, and its output is
// a part of the terminal's output.

// fenceBound bounds the wait for the fence after the status. The kernel keeps the order
// of writes, so it is usually there.
const fenceBound = 200 * time.Millisecond

// fits reports a command that needs a terminal in a shell without one, or the reverse.
func (sh *liveShell) fits(spec *backends.Spec) *startError {
	asks := spec.Stdio.Terminal != messages.Terminal{}
	switch {
	case asks && sh.master == nil:
		return refused(messages.Unsupported, "terminal", "the live shell of the command is on pipes and has no terminal")
	case !asks && sh.master != nil:
		return refused(messages.InvalidParams, "terminal", "the live shell of the command is on a terminal: give its size")
	}
	return nil
}

// attachTerminal makes the command's own log and input state on the shell's terminal.
func (s *shellCommand) attachTerminal(spec *backends.Spec) *startError {
	m := s.shell.master
	if m.stuck() {
		return resourceMissing("log for the output of the shell", errBlocked)
	}
	log, err := s.job.engine.opt.Store.Create(string(s.job.id), uint8(messages.Merged), spec.Log)
	if err != nil {
		return resourceMissing("log for the output", err)
	}
	s.part = newFencedStream(s.job, m, log, s.nonce)
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

// errBlocked reports a log that is full.
var errBlocked = errors.New("the disk is full")

// acquireTerminal restores the terminal's initial modes for the command, and drops
// unread input of the command before.
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

// reported handles the status that the shell reported. Output up to the fence is the
// command's.
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

// cutQuickly cuts the log in a goroutine that serves all jobs. It returns false if that
// may take a while.
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

// awaitFence copies output until the fence is there, and cuts the log. A fence may be
// missing: the command has closed the shell's output, or the log is full. In a flood of
// output the fence is not missing before all is copied that the terminal held.
func (s *shellCommand) awaitFence() {
	m := s.shell.master
	expired, done := s.job.drainTimeout()
	defer done()
	due, target := time.Now().Add(fenceBound), m.moved()+moveLimit
	for pause := retryFirst; ; {
		v := m.step()
		cut, err := m.cut()
		switch {
		case cut:
			return
		case v == blocked || isBlocked(err):
			if m.await(pause, expired) {
				pause = min(2*pause, retryLast)
				due, target = time.Now().Add(fenceBound), m.moved()+moveLimit
				continue
			}
		case v == more && m.moved() < target:
			continue
		case v != more && v != capped && v != ended && s.stirs(due):
			continue
		}
		s.giveUp()
		return
	}
}

// stirs waits for more output of the terminal. It returns false if none came in time.
func (s *shellCommand) stirs(due time.Time) bool {
	bound := time.NewTimer(time.Until(due))
	defer bound.Stop()
	select {
	case <-s.part.moves:
		return true
	case <-bound.C:
	case <-s.job.engine.done:
	}
	return false
}

func isBlocked(err error) bool {
	var b *spill.Blocked
	return errors.As(err, &b)
}

// giveUp ends the log without a fence.
func (s *shellCommand) giveUp() {
	if !s.shell.master.endSection(s.part) {
		s.job.mu.Lock()
		s.job.flag(messages.FlagNoFence)
		s.job.mu.Unlock()
	}
}

// finished frees the shell for the next command, and ends this one.
func (s *shellCommand) finished(end mainExit) {
	s.shell.mu.Lock()
	if s.shell.current == s {
		s.shell.current, s.shell.previous = nil, s
	}
	s.shell.mu.Unlock()
	s.ended(end, false)
}

// cutOff ends a command whose shell has ended: all output of the terminal is the
// command's.
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

// releaseTerminal keeps typed input of the command from the next one.
func (s *shellCommand) releaseTerminal() {
	in := s.job.input
	in.writing.Lock()
	in.cut = true
	in.writing.Unlock()
	if s.stdio.term.keys.Load() { // one may have been ^C
		s.shell.mu.Lock()
		s.shell.noteInterrupt()
		s.shell.mu.Unlock()
	}
	s.shell.master.end.nudge()
}

// interruptFront sends INT to the terminal's foreground group, as ^C does; that may be
// the shell. It reports whether a process was not interrupted before.
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
	s.job.engine.host.send(procs, unix.SIGCONT)
	return true
}

// goOn restarts output stopped with ^S, as the interrupt key does. It writes ^Q, which
// programs do not read in this mode.
func (t *terminal) goOn(master int) {
	modes, err := t.end.sys.Modes(master)
	if err == nil && modes.Iflag&unix.IXON != 0 && modes.Cc[unix.VSTART] != disabled {
		_, _ = t.end.sys.Write(master, modes.Cc[unix.VSTART:unix.VSTART+1])
	}
}

// unstick restarts output stopped with ^S, and gives up a full log: the shell waits for
// both.
func (s *shellCommand) unstick() {
	t := s.stdio.term
	if t == nil || s.isOver() {
		return
	}
	if s.part.blocked.Load() != nil {
		s.giveUp()
	}
	t.end.use(func(master int) {
		_ = t.end.sys.FlushInput(master) // a ^S that is not processed yet
		modes := t.modes
		modes.Iflag &^= unix.IXON
		_ = t.end.sys.SetModes(master, &modes)
		modes = t.modes
		_ = t.end.sys.SetModes(master, &modes)
	})
}

// slavePath returns the path of a terminal by its master.
func slavePath(sys Sys, master int) (string, error) {
	n, err := sys.TerminalNumber(master)
	return fmt.Sprintf("/dev/pts/%d", n), err
}
