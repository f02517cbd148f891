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

// shellCommand is the state of a command that runs in a live shell.
type shellCommand struct {
	job       *job
	shell     *liveShell
	nonce     string
	mode      rune     // letter that tells the shell what to open
	files     []string // removed when the shell has ended the command
	stdio     *stdio   // released then
	inputFIFO []int    // both ends, until the shell has opened it
	short     bool     // the text is in the shell's file of short texts
	part      *stream  // its output on a terminal; nil: on pipes
	size      messages.Terminal
	shared    bool // processes of earlier commands may write there, too
	preparing atomic.Bool

	sent     bool   // the shell has the nonce; guarded by shell.mu
	repeats  int    // repeats of the control line; guarded by shell.mu
	pipe     []int  // reported statuses of its last pipeline; guarded by shell.mu
	baseline []proc // processes in the shell's tree at its start

	released chan struct{} // closed when the shell has ended the command

	scanMu sync.Mutex // held from a scan of the command's processes until they are signalled

	shellDone bool   // the shell has ended the command; job.mu guards this and the fields below
	leftovers []proc // processes it left at its end
	seen      bool   // leftovers is set
	detached  bool   // no process belongs to the command any more; changed with scanMu
	cwd       string // the shell's directory at the end
}

// Names of the FIFOs of commands.
const (
	outName  = "out"
	errName  = "err"
	inSuffix = ".in" // after the nonce
)

// enter gives a command to its live shell, in a worker: now, or when the shell is
// ready.
func (j *job) enter(spec *backends.Spec) {
	s, fail := j.letIn(spec.In)
	if fail != nil {
		j.failed(fail)
		return
	}
	if s == nil {
		return // it is queued again
	}
	fail = s.prepare(spec)
	if fail == nil {
		s.begin()
		return
	}
	s.undo()
	j.failed(fail)
}

// letIn reserves the shell for the command. Both results are nil if the shell is not
// ready: the job is queued again then.
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

// stopping reports whether the command's processes are being stopped.
func (s *shellCommand) stopping() bool {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	return s.job.escalation.waitsForTree() && !s.job.treeGone
}

// leave frees the shell of a command that has not started.
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
		return unwritten(err, "make sure that "+s.shell.dir+" can be written and has room")
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
		s.mode += 's' - 'm' // n becomes t, e becomes k
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

// shortText is how many bytes every shell reads at once. The next text can overwrite
// such a text. On ext4, a file for each costs 80 µs, since inodes are not reused soon.
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
		return nil // begin handles the exit
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

// name returns the path of one of its files, and has it removed at the end.
func (s *shellCommand) name(suffix string) string {
	path := filepath.Join(s.shell.dir, s.nonce+suffix)
	s.files = append(s.files, path)
	return path
}

// output makes the FIFO and the log of one stream. This process holds a writer until
// the shell has ended the command, so that the stream has no end before. A FIFO that no
// process has open serves the next command, which saves half of its start. One held by
// a leftover is replaced.
func (s *shellCommand) output(spec *backends.Spec, which messages.Stream, name string) *startError {
	path, of := filepath.Join(s.shell.dir, name), 0
	if name == errName {
		of = 1
	}
	if last := s.shell.outputs[of]; last == nil || !last.sealed.Load() {
		_ = s.stdio.sys.Unlink(path) // ENOENT: the first command
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

// input makes the FIFO of the standard input. Until the shell opens it, this process
// holds a reader, so that it can be filled, and a second writer: without writers the
// shell's open would hang.
func (s *shellCommand) input() error {
	fds, err := openFifo(s.stdio.sys, s.name(inSuffix), unix.O_RDONLY, unix.O_WRONLY, unix.O_WRONLY)
	if err != nil {
		return err
	}
	s.inputFIFO = fds[:2]
	s.stdio.stdin, err = newPipeEnd(os.NewFile(uintptr(fds[2]), "stdin"))
	return err
}

// opened closes this process's spare ends of the input after the shell has opened it.
func (s *shellCommand) opened() {
	s.shell.mu.Lock()
	spare := s.inputFIFO
	s.inputFIFO = nil
	s.shell.mu.Unlock()
	for _, fd := range spare {
		_ = s.job.engine.opt.Sys.Close(fd)
	}
}

// undo undoes prepare. The empty logs stay.
func (s *shellCommand) undo() {
	if s.stdio != nil {
		s.stdio.undo(s.job, false)
	}
	s.opened()
	s.unlink()
}

// unlink removes the command's files and its text.
func (s *shellCommand) unlink() {
	if sh := s.shell; s.short {
		sh.mu.Lock()
		if sh.text >= 0 && sh.current == nil { // otherwise the next text has replaced it
			_ = s.job.engine.opt.Sys.Truncate(sh.text, 1) // ext4 writes a file truncated to 0 to the disk at once
			sh.textLen = 1
		}
		sh.mu.Unlock()
	}
	for _, path := range s.files {
		_ = s.job.engine.opt.Sys.Unlink(path)
	}
}

// begin reports the start of the command, and sends it to the shell.
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
	if c, own := t.(*cgroupTree); !own || !c.cg.all.memory { // the count of all jobs, by now
		oom = of.engine.host.memory.oomKills()
	}
	if s.part != nil {
		s.shared = s.anyLives(s.baseline)
		s.acquireTerminal() // before any input can be typed
	}
	j.forked(child{
		pid: of.proc.pid, start: of.proc.start, pidfd: -1, tree: &shellCommandTree{shellCommand: s, tree: t},
		streams: s.stdio.streams, stdin: s.stdio.stdin, term: s.stdio.term, oom: oom, flags: s.stdio.flags,
	})
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
		sh.job.stop(messages.Cause{By: messages.BySystem, Reason: "cannot write to the shell: " + err.Error()}, 0)
	}
	j.begun(s.stdio.streams)
}

// line returns the control line that starts the command.
func (s *shellCommand) line() string { return s.nonce + string(s.mode) }

// mostRepeats bounds the repeats of one control line: any process can report a loss.
const mostRepeats = 16

// repeat sends the control line again; a shell ignores one that it has handled. An
// interrupt of the command before may have met the shell in its read, and the line is
// lost then. The caller holds shell.mu.
func (s *shellCommand) repeat() {
	if s.repeats++; s.repeats <= mostRepeats {
		_ = s.shell.writeControl(s.line()) // a full FIFO contains one
	}
}

// outlived ends the command because its shell has ended.
func (s *shellCommand) outlived(end mainExit) {
	if s.part != nil {
		s.cutOff(end)
		return
	}
	s.ended(end, true)
}

// ended handles the end of the command, or of its shell if cut is set.
func (s *shellCommand) ended(end mainExit, cut bool) {
	j, sh := s.job, s.shell
	s.stdio.release()
	s.opened()
	if s.part != nil {
		s.releaseTerminal()
	}
	j.proc.mu.Lock()
	j.proc.gone = true // the shell must not be signalled as the command's process
	j.proc.mu.Unlock()
	var cause *messages.Cause
	if cut {
		end.rusage = messages.Rusage{} // it counts all that the shell has run
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
	j.ended(end) // its leftovers are recorded, for the escalation
	close(s.released)
	s.unlink()
}

// errNoProcess reports a signal without a receiver.
var errNoProcess = errors.New("the command has no process of its own now: the shell itself runs")
