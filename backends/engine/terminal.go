package engine

import (
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// terminal is this process's side of a job's terminal. The stream that reads the master
// owns it.
type terminal struct {
	end   *readEnd
	modes unix.Termios // at the start
	keys  atomic.Bool  // input was typed

	// The goroutine that writes the input owns these fields.
	cooked bool // lines were collected at the last check
	line   int  // bytes of the incomplete line
}

// terminal makes the terminal of a job, and its log. The size is set before the job can
// query it; descriptors 0, 1 and 2 are the terminal.
func (io *stdio) terminal(j *job, spec *backends.Spec) *startError {
	master, slave, err := io.sys.OpenTerminal()
	if err != nil {
		return noTerminal(io.sys, err)
	}
	if fail := leavesSome(io.sys); fail != nil {
		_ = io.sys.Close(master)
		_ = io.sys.Close(slave)
		return fail
	}
	io.theirs = append(io.theirs, slave)
	io.files = [3]uintptr{uintptr(slave), uintptr(slave), uintptr(slave)}
	t := &terminal{}
	size := spec.Stdio.Terminal
	modes, err := io.sys.Modes(master)
	if err == nil {
		t.modes = *modes
		err = io.sys.SetSize(master, uint16(size.Rows), uint16(size.Cols))
	}
	if err == nil {
		err = io.sys.SetNonblock(master)
	}
	if err != nil {
		_ = io.sys.Close(master)
		return resourceMissing("terminal", err)
	}
	if fail := io.log(j, spec, messages.Merged, master); fail != nil {
		return fail
	}
	s := io.streams[len(io.streams)-1]
	s.terminal, s.large = true, true // the kernel sets the size of its buffer
	t.end = &s.end
	io.term, io.stdin = t, &pipeEnd{master: t.end}
	return nil
}

// ReservedTerminals is how many of the machine's terminals jobs leave free: a user
// needs one to log in and stop jobs.
const ReservedTerminals = 64

const (
	ptyMax        = "kernel.pty.max"
	moreTerminals = "end some jobs on terminals, or raise the limit (sysctl kernel.pty.max), or run the job without a terminal"
)

// leavesSome refuses the last opened terminal if it is a reserved one. Each opener
// counts after its own open, so that concurrent opens are not missed. A machine that
// does not count its terminals has its own limit only.
func leavesSome(sys Sys) *startError {
	used, most := terminals(sys)
	if most <= 0 || used <= most-min(ReservedTerminals, most/2) {
		return nil
	}
	return &startError{err: messages.Error{
		Code: messages.ResourceExhausted, Reason: ptyMax, Hint: moreTerminals,
		Message: fmt.Sprintf("the job cannot start: %d of the %d terminals of this machine are in use (kernel.pty.max), and the last %d are not for jobs", used-1, most, min(ReservedTerminals, most/2)),
	}}
}

// noTerminal reports a terminal that could not be opened. The kernel returns ENOSPC
// when all are in use.
func noTerminal(sys Sys, err error) *startError {
	f := resourceMissing("terminal", err)
	switch errno(err) {
	case unix.ENOSPC:
		f.err.Message = "the job cannot start: all terminals of this machine are in use"
		if _, most := terminals(sys); most > 0 {
			f.err.Message += fmt.Sprintf(" (kernel.pty.max is %d)", most)
		}
		f.err.Reason, f.err.Hint = ptyMax, moreTerminals
	case unix.ENOENT, unix.EACCES, unix.ENODEV, unix.ENXIO:
		f.err.Hint = "mount devpts on /dev/pts with a /dev/ptmx that may be opened, or run the job without a terminal"
	}
	return f
}

// badSize reports a terminal size out of range.
func badSize(t messages.Terminal) *messages.Error {
	if t.Rows >= 1 && t.Rows <= 65535 && t.Cols >= 1 && t.Cols <= 65535 {
		return nil
	}
	return messages.Invalid("invalid_size",
		fmt.Sprintf("a terminal of %d rows and %d columns is impossible; use 1 to 65535 of each", t.Rows, t.Cols))
}

// onTerminal calls do with the master of a job's terminal.
func (j *job) onTerminal(do func(t *terminal, master int) error) messages.ProcessFact {
	j.mu.Lock()
	t := j.term
	j.mu.Unlock()
	if t == nil {
		return refusal(messages.Unsupported, "the job has no terminal; start it on one")
	}
	err := os.ErrClosed
	t.end.use(func(master int) { err = do(t, master) })
	if err == nil {
		return messages.ControlDone{}
	}
	if err == os.ErrClosed {
		return refusal(messages.JobFinished, "the terminal of the job is closed")
	}
	return messages.ControlRefused{Err: messages.Error{
		Code: messages.Internal, Reason: name(errno(err)), Message: "the terminal refuses: " + err.Error(),
	}}
}

// resize changes the size of the terminal. The kernel sends WINCH to the foreground
// group if it differs.
func (j *job) resize(size messages.Terminal) messages.ProcessFact {
	fact := j.onTerminal(func(*terminal, int) error { return nil })
	if _, ok := fact.(messages.ControlDone); !ok {
		return fact
	}
	if bad := badSize(size); bad != nil {
		return messages.ControlRefused{Err: *bad}
	}
	return j.onTerminal(func(t *terminal, master int) error {
		j.acts()
		return t.end.sys.SetSize(master, uint16(size.Rows), uint16(size.Cols))
	})
}

// resetTerminal restores the terminal's initial modes after changes by the job, such as
// raw mode.
func (j *job) resetTerminal() messages.ProcessFact {
	return j.onTerminal(func(t *terminal, master int) error {
		j.acts()
		modes := t.modes
		return t.end.sys.SetModes(master, &modes)
	})
}

// foreground returns the terminal's foreground process group; 0: none.
func (j *job) foreground() (group int) {
	j.mu.Lock()
	t := j.term
	j.mu.Unlock()
	if t != nil {
		t.end.use(func(master int) {
			if g, err := t.end.sys.Foreground(master); err == nil {
				group = g
			}
		})
	}
	return group
}
