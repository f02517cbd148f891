package engine

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// liveShell is the state of a job that is a live shell (backends.LiveShell): its
// directory, side channel and current command. Lock order: mu before the mu of any job.
type liveShell struct {
	job          *job
	readyTimeout time.Duration
	canSync      bool // on a terminal: it confirms that no interrupt is pending
	dir          string
	dirMade      bool // the directory exists
	text         int  // descriptor of the file of short texts; -1: closed
	controlFIFO  int  // open for reading and writing, so that open and write never wait
	statusFIFO   readEnd
	outputs      [2]*stream                 // out and err of the last command; the next command uses them again
	master       *stream                    // stream that reads its terminal; nil: on pipes
	term         *terminal                  // that terminal
	timer        atomic.Pointer[time.Timer] // until it must be ready
	cwd          atomic.Pointer[string]

	mu               sync.Mutex
	reports          reports
	started          bool        // the job has its process and tree
	ready            bool        // it was ready for commands
	exited           bool        // the process has ended
	startErr         *startError // why it was never ready; nil: it was, or may be
	end              mainExit
	interruptPending bool          // an interrupt may still reach it
	syncing          bool          // it was asked to confirm that none is pending
	syncs            int           // repeats of that request
	current          *shellCommand // waits for the shell or runs; nil: none
	previous         *shellCommand // the command before
	baseline         []proc        // processes in its tree after the last command
	ooms             int64         // OOM kills counted so far
	textLen          int           // bytes in the file of short texts
}

// shellReadyTimeout bounds the start of a shell.
const shellReadyTimeout = time.Minute

// refuseLive makes the checks of a live shell that need no process.
func refuseLive(s backends.Spec) *startError {
	for name := range s.Live.Files {
		if name == "" || name == ctlName || name == stName || name == textName || name == outName || name == errName || strings.ContainsAny(name, "/\x00") {
			return refused(messages.InvalidParams, "files", fmt.Sprintf("invalid name %q for a file of a live shell", name))
		}
	}
	return nil
}

// refuseIn makes the checks of a shell command that need no process.
func refuseIn(s backends.Spec) *startError {
	switch {
	case s.Live != nil:
		return refused(messages.InvalidParams, "in", "a live shell cannot run in another live shell; start it as a job of its own")
	case len(s.Meta) > backends.MaxMeta:
		return refused(messages.TooLarge, "meta", "the meta of the job is too large")
	case s.Stdio.Stdin == messages.StdinHost:
		return refused(messages.Unsupported, "stdin", "a command in a live shell has no standard input of its host; give it a pipe")
	case s.Stdio.Terminal != messages.Terminal{}:
		if bad := badSize(s.Stdio.Terminal); bad != nil {
			return &startError{err: *bad, shell: shellNotExecutable}
		}
	}
	return nil
}

// begin starts the timer until the shell must be ready. The caller holds the job's mu.
func (sh *liveShell) begin() {
	sh.timer.Store(time.AfterFunc(sh.readyTimeout, func() {
		sh.mu.Lock()
		late := !sh.ready && !sh.exited
		sh.mu.Unlock()
		if late {
			sh.job.stop(messages.Cause{By: messages.BySystem, Reason: sh.lateness()}, 0)
		}
	}))
}

func (sh *liveShell) lateness() string {
	return "the shell was not ready within " + sh.readyTimeout.String()
}

// stopTimer stops the timer of begin or sync.
func (sh *liveShell) stopTimer() {
	if t := sh.timer.Load(); t != nil {
		t.Stop()
	}
}

// readStatus reads the reports on the status FIFO.
func (sh *liveShell) readStatus() {
	var then []func()
	buf := make([]byte, 1024)
	sh.mu.Lock()
	sh.statusFIFO.use(func(fd int) {
		for {
			n, err := sh.job.engine.opt.Sys.Read(fd, buf)
			if n <= 0 || err != nil {
				return
			}
			sh.reports.take(buf[:n], func(r report) {
				if f := sh.handleReport(r); f != nil {
					then = append(then, f)
				}
			})
			if n < len(buf) {
				return // more data causes another event
			}
		}
	})
	sh.mu.Unlock()
	for _, f := range then {
		f()
	}
}

// handleReport handles a report. It returns a call to make without locks; nil: none.
// The caller holds mu.
func (sh *liveShell) handleReport(r report) func() {
	s := sh.current
	switch {
	case sh.exited:
		return nil
	case r.about == reportReady && !sh.ready:
		sh.ready = true
		sh.setDir(r.cwd)
		sh.stopTimer()
		return sh.sendCommand()
	case sh.syncing:
		return sh.synced(r)
	case s == nil || !s.sent:
		return nil
	case r.about == reportAgain:
		s.repeat()
		return nil
	case r.about != s.nonce:
		return nil
	case r.runs: // or the shell exits
		sh.setDir(r.cwd)
		return s.opened
	case r.pipe != nil: // its status follows
		s.pipe = r.pipe
		return nil
	case r.errexit: // likewise
		s.job.mu.Lock()
		s.job.flag(messages.FlagErrexit)
		s.job.mu.Unlock()
		return nil
	}
	sh.setDir(r.cwd)
	end := mainExit{at: time.Now(), status: messages.ExitStatus{Code: r.status}, pipe: s.pipe}
	if s.part != nil { // the command keeps the terminal until its output is complete
		s.sent = false
		return func() { s.reported(end) }
	}
	sh.current, sh.previous = nil, s
	return func() { s.ended(end, false) }
}

// sendCommand returns the call that queues the waiting command, if the shell can take
// it; nil: none. The caller holds mu.
func (sh *liveShell) sendCommand() func() {
	s := sh.current
	if s == nil || !sh.idle() || sh.exited {
		return nil
	}
	return func() { sh.job.engine.queue.push(s.job) }
}

// idle reports whether the shell can take a command now. The caller holds mu.
func (sh *liveShell) idle() bool { return sh.ready && sh.started && !sh.syncing }

// setStarted records that the job can take commands. The shell may have been ready
// before.
func (sh *liveShell) setStarted() {
	sh.mu.Lock()
	sh.started = true
	call := sh.sendCommand()
	sh.mu.Unlock()
	if call != nil {
		call()
	}
}

// setDir records the shell's directory.
func (sh *liveShell) setDir(cwd string) {
	if cwd != "" && cwd != *sh.cwd.Load() {
		sh.cwd.Store(&cwd)
	}
}

// shellExited handles the shell's exit, which also ends its current command.
func (sh *liveShell) shellExited(end mainExit) {
	sh.readStatus() // reports from before the exit
	sh.stopTimer()
	sh.mu.Lock()
	first := !sh.exited
	sh.exited, sh.end = true, end
	s := sh.current
	given := s != nil && s.sent
	if given {
		sh.current = nil
	}
	sh.mu.Unlock()
	if !first {
		return
	}
	sh.shut()
	sh.job.engine.run(sh.job, sh.explain)
	if given {
		s.outlived(end)
	}
}

// startFailed fails the command that waits for a shell whose start failed.
func (sh *liveShell) startFailed(f *startError) {
	sh.mu.Lock()
	sh.exited, sh.startErr = true, f
	s := sh.current
	sh.mu.Unlock()
	sh.shut()
	if s != nil {
		sh.job.engine.run(s.job, func() { s.job.failed(f) })
	}
}

// shut closes the side channel.
func (sh *liveShell) shut() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.dirMade {
		return
	}
	sh.job.engine.host.pollset.unlisten(&sh.statusFIFO)
	sh.statusFIFO.close()
	for _, fd := range []*int{&sh.controlFIFO, &sh.text} {
		if *fd >= 0 {
			_ = sh.job.engine.opt.Sys.Close(*fd)
			*fd = -1
		}
	}
}

// explain fails the waiting command, and later ones, with the reason why the shell
// ended before it was ready.
func (sh *liveShell) explain() {
	f := shellGone()
	if !sh.wasReady() {
		f = sh.failCommand()
		sh.mu.Lock()
		sh.startErr = f
		sh.mu.Unlock()
	}
	sh.mu.Lock()
	s := sh.current
	sh.mu.Unlock()
	if s != nil && !s.preparing.Load() {
		s.job.failed(f)
	}
}

// failCommand builds the error of a command whose shell ended before it was ready.
func (sh *liveShell) failCommand() *startError {
	j := sh.job
	j.mu.Lock()
	cause, streams := j.stoppedFor(), j.streams
	j.mu.Unlock()
	j.checkOutputEnds(streams)
	why := sh.end.status.String()
	if cause.By == messages.BySystem {
		why = cause.Reason
	}
	text := "the shell did not start: " + why
	if said := sh.said(); said != "" {
		text += "; it printed: " + said
	}
	f := refused(messages.SpawnFailed, "shell_start", text)
	f.err.Hint = "look at what it is started with, or use another shell"
	return f
}

func (sh *liveShell) wasReady() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.ready
}

// saidMost bounds, in bytes, a shell's output that an error repeats.
const saidMost = 1 << 10

// said returns the end of the shell's output.
func (sh *liveShell) said() string {
	log, err := sh.job.engine.opt.Store.Open(string(sh.job.id), uint8(messages.Merged))
	if err != nil {
		return ""
	}
	defer log.Close()
	size := log.State().Size
	text := make([]byte, min(size, saidMost))
	n, _ := log.ReadAt(text, size-int64(len(text)))
	return strings.TrimSpace(strings.ToValidUTF8(string(text[:n]), "?"))
}

// shellGone builds the error of a command whose shell has ended.
func shellGone() *startError {
	f := refused(messages.SessionClosedCode, "shell_gone", "the live shell of the command has ended")
	f.err.Hint = "start another, and run it there"
	return f
}

// writeControl writes a line to the shell. The caller holds mu.
func (sh *liveShell) writeControl(line string) error {
	_, err := sh.job.engine.opt.Sys.Write(sh.controlFIFO, []byte(line+"\n"))
	return err
}

// lifeOf returns a live shell by its job; nil: none.
func (e *Local) lifeOf(id messages.UID) *liveShell {
	if j := e.find(id); j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.shell
	}
	return nil
}

// Flag adds a flag to a live job, or to the command that a live shell runs. It returns the
// id of the flagged job; "": none.
func (e *Local) Flag(id messages.UID, f messages.Flag) messages.UID {
	if sh := e.lifeOf(id); sh != nil {
		sh.mu.Lock()
		if sh.current != nil {
			id = sh.current.job.id
		}
		sh.mu.Unlock()
	}
	j := e.find(id)
	if j == nil {
		return ""
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.flag(f)
	return id
}

// newLiveShell returns the state of a job that will be a live shell.
func newLiveShell(j *job, s *backends.LiveShell) *liveShell {
	sh := &liveShell{job: j, readyTimeout: cmp.Or(s.Within, shellReadyTimeout), canSync: s.Syncs, text: -1, controlFIFO: -1, statusFIFO: readEnd{sys: j.engine.opt.Sys, fd: -1, shut: true}}
	sh.cwd.Store(new(string))
	return sh
}

// openFifo makes a FIFO and opens it once for each of flags.
func openFifo(sys Sys, path string, flags ...int) (fds []int, err error) {
	if err = sys.Mkfifo(path); err != nil {
		return nil, err
	}
	return openAll(sys, path, flags...)
}

// openAll opens a FIFO once for each of flags.
func openAll(sys Sys, path string, flags ...int) (fds []int, err error) {
	for _, flag := range flags {
		fd, err := sys.OpenAt(unix.AT_FDCWD, path, flag|unix.O_NONBLOCK|unix.O_NOFOLLOW)
		if err != nil {
			for _, fd := range fds {
				_ = sys.Close(fd)
			}
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}
