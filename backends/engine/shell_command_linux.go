package engine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// shellCommand is what a job has that is a command of a live shell: the part of the shell's
// life that is its own.
type shellCommand struct {
	job       *job
	shell     *liveShell
	nonce     string
	mode      rune     // what the shell is to open for it
	files     []string // removed when the shell is through with them
	stdio     *stdio   // what is to be let go of then
	inputFIFO []int    // both ends of its input, until the shell has opened it
	short     bool     // its text is in the shell's file for that
	part      *stream  // its output, on a terminal; nil: the shell has none
	size      messages.Terminal
	shared    bool // what earlier commands left may write there, too
	preparing atomic.Bool

	sent     bool   // the shell has the nonce; guarded by shell.mu
	repeats  int    // times it was told again; likewise
	baseline []proc // lived in the shell's tree when it began

	released chan struct{} // closed when the shell is through with it

	scanMu sync.Mutex // from a look at whose processes are the command's to the signal for them

	shellDone bool   // the shell is through with it; guarded by job.mu, as what follows
	leftovers []proc // what it left, when that was
	seen      bool   // noted
	detached  bool   // nothing is the command's any more: what comes now is another's; changed with aim
	cwd       string // where the shell was then
}

// The names of the FIFOs of commands.
const (
	outName  = "out"
	errName  = "err"
	inSuffix = ".in" // behind the nonce
)

// enter gives a command to its live shell, in a worker: now, or when that is ready.
func (j *job) enter(spec *backends.Spec) {
	s, fail := j.letIn(spec.In)
	if fail != nil {
		j.failed(fail)
		return
	}
	if s == nil {
		return // it comes again
	}
	fail = s.prepare(spec)
	if fail == nil {
		s.begin()
		return
	}
	s.undo()
	j.failed(fail)
}

// letIn takes the shell for the command. Both are nil if that is not ready yet: the job
// waits, and is queued again.
func (j *job) letIn(id messages.UID) (*shellCommand, *startError) {
	sh := j.engine.lifeOf(id)
	if sh == nil {
		return nil, shellGone()
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch {
	case sh.current != nil && sh.current.job != j, sh.previous != nil && sh.previous.stopping():
		return nil, refused(messages.Busy, "shell", "another command runs in the live shell")
	case sh.startErr != nil:
		return nil, sh.startErr
	case sh.exited:
		return nil, shellGone()
	case sh.current == nil:
		sh.current = &shellCommand{job: j, shell: sh, released: make(chan struct{})}
	}
	s := sh.current
	j.mu.Lock()
	defer j.mu.Unlock()
	j.command = s
	if sh.interruptPending && sh.idle() {
		sh.sync()
	}
	if sh.idle() {
		s.preparing.Store(true)
		return s, nil
	}
	if j.escalation != nil {
		return nil, stoppedEarly()
	}
	j.phase = phaseQueued
	return nil, nil
}

// stopping reports whether the processes of the command are being ended.
func (s *shellCommand) stopping() bool {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	return s.job.escalation.waitsForTree() && !s.job.treeGone
}

// leave frees the shell of a command that has not begun.
func (s *shellCommand) leave() {
	s.shell.mu.Lock()
	defer s.shell.mu.Unlock()
	if s.shell.current == s {
		s.shell.current = nil
	}
}

// prepare makes the files and FIFOs of the command.
func (s *shellCommand) prepare(spec *backends.Spec) *startError {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	s.nonce = hex.EncodeToString(nonce[:])
	s.stdio = &stdio{sys: s.job.engine.opt.Sys}
	if fail := s.shell.fits(spec); fail != nil {
		return fail
	}
	if err := s.writeText(spec.Script + "\n"); err != nil {
		return unwritten(err, "see to it that "+s.shell.dir+" can be written and has room")
	}
	which := messages.Merged
	s.mode += 'm'
	if spec.SameExports && s.short {
		s.mode = 'e'
	}
	if s.shell.master != nil {
		return s.attachTerminal(spec)
	}
	if spec.Stdio.Streams == messages.SeparateStreams {
		which = messages.Stdout
		s.mode += 's' - 'm' // t behind n, k behind e
		if fail := s.output(spec, messages.Stderr, errName); fail != nil {
			return fail
		}
	}
	if fail := s.output(spec, which, outName); fail != nil {
		return fail
	}
	if spec.Stdio.Stdin == messages.StdinPipe {
		s.mode += 'A' - 'a'
		if err := s.input(); err != nil {
			return resourceMissing("pipe for the standard input", err)
		}
	}
	return nil
}

// shortText is how much any shell reads at once: the text of the next command can take
// its place. To make and remove a file for each takes ext4 80 µs, since it does not use
// an inode again soon.
const shortText = 4 << 10

// writeText writes the text of the command.
func (s *shellCommand) writeText(text string) error {
	if len(text) > shortText {
		s.mode = 'n' - 'm'
		return s.shell.writeFile(s.name(""), text)
	}
	s.short = true
	sh, sys := s.shell, s.job.engine.opt.Sys
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.exited {
		return nil // it will be seen
	}
	n, err := sys.Pwrite(sh.text, []byte(text))
	switch {
	case err != nil:
	case n < len(text):
		err = io.ErrShortWrite
	case n < sh.textLen:
		err = sys.Truncate(sh.text, int64(n))
	}
	sh.textLen = max(n, 1)
	return err
}

// name is the path of one of its files, which will be removed.
func (s *shellCommand) name(suffix string) string {
	path := filepath.Join(s.shell.dir, s.nonce+suffix)
	s.files = append(s.files, path)
	return path
}

// output makes the FIFO and the log of one stream. We hold a writer of it until the
// shell is through: it has no end before. A FIFO that nobody has open any more serves
// the next command, too, which saves half of what its start costs; what a command left
// behind may hold another, which is made anew.
func (s *shellCommand) output(spec *backends.Spec, which messages.Stream, name string) *startError {
	path, of := filepath.Join(s.shell.dir, name), 0
	if name == errName {
		of = 1
	}
	if last := s.shell.outputs[of]; last == nil || !last.sealed.Load() {
		_ = s.stdio.sys.Unlink(path) // ENOENT: it is the first
		if err := s.stdio.sys.Mkfifo(path); err != nil {
			return resourceMissing("pipe for the output", err)
		}
	}
	s.shell.outputs[of] = nil
	fds, err := openAll(s.stdio.sys, path, unix.O_RDONLY, unix.O_WRONLY)
	if err != nil {
		return resourceMissing("pipe for the output", err)
	}
	s.stdio.theirs = append(s.stdio.theirs, fds[1])
	log, err := s.job.engine.opt.Store.Create(string(s.job.id), uint8(which), spec.Log)
	if err != nil {
		_ = s.stdio.sys.Close(fds[0])
		return resourceMissing("log for the output", err)
	}
	stream := newStream(s.job, which, fds[0], log)
	stream.durable = isDurable(spec)
	s.stdio.streams = append(s.stdio.streams, stream)
	s.shell.outputs[of] = stream
	return nil
}

// input makes the FIFO of the standard input. Until the shell has opened it we hold a
// reader, so that it can be filled, and another writer: a shell that opened it when all
// writers are gone would wait for ever.
func (s *shellCommand) input() error {
	fds, err := openFifo(s.stdio.sys, s.name(inSuffix), unix.O_RDONLY, unix.O_WRONLY, unix.O_WRONLY)
	if err != nil {
		return err
	}
	s.inputFIFO = fds[:2]
	s.stdio.stdin, err = newPipeEnd(os.NewFile(uintptr(fds[2]), "stdin"))
	return err
}

// opened lets go of the door of the input: the shell has opened it.
func (s *shellCommand) opened() {
	s.shell.mu.Lock()
	door := s.inputFIFO
	s.inputFIFO = nil
	s.shell.mu.Unlock()
	for _, fd := range door {
		_ = s.job.engine.opt.Sys.Close(fd)
	}
}

// undo takes back what prepare has made. Its logs stay, empty.
func (s *shellCommand) undo() {
	if s.stdio != nil {
		s.stdio.undo(s.job, false)
	}
	s.opened()
	s.unlink()
}

// unlink removes what only this command needs, and its text.
func (s *shellCommand) unlink() {
	if sh := s.shell; s.short {
		sh.mu.Lock()
		if sh.text >= 0 && sh.current == nil { // else the next has taken its place
			_ = s.job.engine.opt.Sys.Truncate(sh.text, 1) // what is made empty ext4 would write to the disk at once
			sh.textLen = 1
		}
		sh.mu.Unlock()
	}
	for _, path := range s.files {
		_ = s.job.engine.opt.Sys.Unlink(path)
	}
}

// begin tells that the command runs, and the shell to run it.
func (s *shellCommand) begin() {
	j, sh := s.job, s.shell
	of := sh.job
	of.mu.Lock()
	t, oom := of.tree, of.postFork.oom
	of.mu.Unlock()
	sh.mu.Lock()
	s.baseline = sh.baseline
	oom += sh.ooms
	sh.mu.Unlock()
	s.shared = s.part != nil && s.anyLives(s.baseline)
	j.born(child{
		pid: of.proc.pid, start: of.proc.start, pidfd: -1, tree: &shellCommandTree{shellCommand: s, tree: t},
		streams: s.stdio.streams, stdin: s.stdio.stdin, term: s.stdio.term, oom: oom, flags: s.stdio.flags,
	})
	if s.part != nil {
		s.acquireTerminal()
	}
	sh.mu.Lock()
	gone := sh.exited
	var err error
	if !gone {
		s.sent = true
		err = sh.writeControl(s.line())
	} else if sh.current == s {
		sh.current = nil
	}
	sh.mu.Unlock()
	switch {
	case gone:
		s.outlived(sh.end)
	case err != nil:
		sh.job.stop(messages.Cause{By: messages.BySystem, Reason: "the shell cannot be told what to run: " + err.Error()}, 0)
	}
	j.begun(s.stdio.streams)
}

// line is what the shell is told.
func (s *shellCommand) line() string { return s.nonce + string(s.mode) }

// mostRepeats bounds how often a shell is told of one command: anybody may say that it
// lost it.
const mostRepeats = 16

// repeat tells the shell once more, which passes over what it has reported. An interrupt
// of the command before may have met it behind its report, in the read of this one: what
// that had taken is gone then. Called with shell.mu.
func (s *shellCommand) repeat() {
	if s.repeats++; s.repeats <= mostRepeats {
		_ = s.shell.writeControl(s.line()) // a FIFO that is full has one
	}
}

// outlived takes the end of the shell for that of the command.
func (s *shellCommand) outlived(end mainExit) {
	if s.part != nil {
		s.cutOff(end)
		return
	}
	s.ended(end, true)
}

// ended takes the end of the command, which may be that of the shell.
func (s *shellCommand) ended(end mainExit, cut bool) {
	j, sh := s.job, s.shell
	s.stdio.release()
	s.opened()
	if s.part != nil {
		s.releaseTerminal()
	}
	j.proc.mu.Lock()
	j.proc.gone = true // nobody signals it as if it were its own process
	j.proc.mu.Unlock()
	var cause *messages.Cause
	if cut {
		end.rusage = messages.Rusage{} // it is that of all that the shell has run
		sh.job.mu.Lock()
		cause = sh.job.cause
		sh.job.mu.Unlock()
	}
	j.mu.Lock()
	s.shellDone, s.cwd = true, *sh.cwd.Load()
	if cut {
		j.flag(messages.FlagSessionEnded)
		if j.stoppedFor() == (messages.Cause{}) && j.escalation == nil {
			j.cause = cause
		}
	}
	j.mu.Unlock()
	j.ended(end) // what it left is noted: the ladder knows who is to be ended
	close(s.released)
	s.unlink()
}

// errNoProcess says that a signal has nobody to go to.
var errNoProcess = errors.New("the command runs no process of its own now: the shell itself is at work")
