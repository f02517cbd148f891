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

// liveShell is what a job has that is a live shell (backends.Live): its directory, its side
// channel, and the command that runs in it. mu is taken before the mu of any job.
type liveShell struct {
	job          *job
	readyTimeout time.Duration
	canSync      bool // it is on a terminal, and says when asked that no interrupt is on its way
	dir          string
	dirMade      bool // the directory is there
	text         int  // the file of short texts, open; -1: it is not
	controlFIFO  int  // both ends of the FIFO are ours, so that no open and no write waits
	statusFIFO   readEnd
	outputs      [2]*stream                 // out and err, of the last command; who gives the next to the shell uses them
	master       *stream                    // that reads its terminal; nil: it is on pipes
	term         *terminal                  // that
	timer        atomic.Pointer[time.Timer] // until it must be ready
	cwd          atomic.Pointer[string]

	mu               sync.Mutex
	reports          reports
	started          bool        // its job has its process and tree
	ready            bool        // it is ready, or was
	exited           bool        // its process has ended
	startErr         *startError // it was never ready, because; nil: it was, or may be
	end              mainExit
	interruptPending bool          // an interrupt may be on its way to it
	syncing          bool          // it was asked to say that none is
	syncs            int           // times it was asked again
	current          *shellCommand // it waits for the shell, or runs; nil: none does
	previous         *shellCommand // the command before
	baseline         []proc        // that lived in its tree when the last command had ended
	ooms             int64         // counted so far
	textLen          int           // bytes in the file of short texts
}

// shellReadyTimeout is how long a shell may take until it is ready.
const shellReadyTimeout = time.Minute

// refuseLive looks at what no process is needed for.
func refuseLive(s backends.Spec) *startError {
	for name := range s.Live.Files {
		if name == "" || name == ctlName || name == stName || name == textName || name == outName || name == errName || strings.ContainsAny(name, "/\x00") {
			return refused(messages.InvalidParams, "files", fmt.Sprintf("%q is no name for a file of a live shell", name))
		}
	}
	return nil
}

// refuseIn does so for a command.
func refuseIn(s backends.Spec) *startError {
	switch {
	case s.Live != nil:
		return refused(messages.InvalidParams, "in", "a live shell is no command of another; start it for itself")
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

// begin begins the time in which the shell must be ready. Called with the mu of the job.
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

// stopTimer ends the time that begin began.
func (sh *liveShell) stopTimer() {
	if t := sh.timer.Load(); t != nil {
		t.Stop()
	}
}

// readStatus takes what has come on the status FIFO.
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
				return // what comes now is an event of its own
			}
		}
	})
	sh.mu.Unlock()
	for _, f := range then {
		f()
	}
}

// handleReport takes a report, and gives what follows from it, to be done without a lock; nil:
// nothing. Called with mu.
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
	}
	sh.setDir(r.cwd)
	end := mainExit{at: time.Now(), status: messages.ExitStatus{Code: r.status}}
	if s.part != nil { // the terminal is its own until its output is
		s.sent = false
		return func() { s.reported(end) }
	}
	sh.current, sh.previous = nil, s
	return func() { s.ended(end, false) }
}

// sendCommand calls the command that waits for the shell, when that can take it; nil: there is
// nothing to do. Called with mu.
func (sh *liveShell) sendCommand() func() {
	s := sh.current
	if s == nil || !sh.idle() || sh.exited {
		return nil
	}
	return func() { sh.job.engine.queue.push(s.job) }
}

// idle reports whether the shell can take a command now. Called with mu.
func (sh *liveShell) idle() bool { return sh.ready && sh.started && !sh.syncing }

// setStarted says that the job has all it needs to take commands: the shell itself may have
// been ready before.
func (sh *liveShell) setStarted() {
	sh.mu.Lock()
	sh.started = true
	call := sh.sendCommand()
	sh.mu.Unlock()
	if call != nil {
		call()
	}
}

// setDir notes where the shell is.
func (sh *liveShell) setDir(cwd string) {
	if cwd != "" && cwd != *sh.cwd.Load() {
		sh.cwd.Store(&cwd)
	}
}

// shellExited takes the end of the shell: it is that of the command which runs in it.
func (sh *liveShell) shellExited(end mainExit) {
	sh.readStatus() // what it said before
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

// startFailed takes the failure of the shell's start: that of the command that waits for it.
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

// explain says why a shell has ended before it was ready, to the command that waits and
// to those that come.
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

// failCommand is a command whose shell has ended before it was ready.
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
	text := "the shell did not come up: " + why
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

// saidMost is how much of what a shell printed is repeated in an error.
const saidMost = 1 << 10

// said is the end of what the shell has printed.
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

// shellGone is a command for a shell that has ended.
func shellGone() *startError {
	f := refused(messages.SessionClosedCode, "shell_gone", "the live shell of the command has ended")
	f.err.Hint = "start another, and run it there"
	return f
}

// writeControl gives the shell a line. Called with mu.
func (sh *liveShell) writeControl(line string) error {
	_, err := sh.job.engine.opt.Sys.Write(sh.controlFIFO, []byte(line+"\n"))
	return err
}

// lifeOf finds a live shell.
func (e *Local) lifeOf(id messages.UID) *liveShell {
	if j := e.find(id); j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.shell
	}
	return nil
}

// newLiveShell is what a job will have when it is a live shell.
func newLiveShell(j *job, s *backends.LiveShell) *liveShell {
	sh := &liveShell{job: j, readyTimeout: cmp.Or(s.Within, shellReadyTimeout), canSync: s.Syncs, text: -1, controlFIFO: -1, statusFIFO: readEnd{sys: j.engine.opt.Sys, fd: -1, shut: true}}
	sh.cwd.Store(new(string))
	return sh
}

// openFifo makes a FIFO and opens it as often as there are flags.
func openFifo(sys Sys, path string, flags ...int) (fds []int, err error) {
	if err = sys.Mkfifo(path); err != nil {
		return nil, err
	}
	return openAll(sys, path, flags...)
}

// openAll opens a FIFO as often as there are flags.
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
