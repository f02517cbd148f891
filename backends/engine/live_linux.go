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

// live is what a job has that is a live shell (backends.Live): its directory, its side
// channel, and the command that runs in it. mu is taken before the mu of any job.
type live struct {
	job     *job
	within  time.Duration
	canSync bool // it is on a terminal, and says when asked that no interrupt is on its way
	dir     string
	made    bool // the directory is there
	text    int  // the file of short texts, open; -1: it is not
	ctl     int  // both ends of the FIFO are ours, so that no open and no write waits
	st      readEnd
	outputs [2]*stream                 // out and err, of the last command; who gives the next to the shell uses them
	master  *stream                    // that reads its terminal; nil: it is on pipes
	term    *terminal                  // that
	timer   atomic.Pointer[time.Timer] // until it must be ready
	cwd     atomic.Pointer[string]

	mu      sync.Mutex
	reports reports
	born    bool     // its job has its process and tree
	up      bool     // it is ready, or was
	gone    bool     // its process has ended
	why     *failure // it was never ready, because; nil: it was, or may be
	end     ending
	poked   bool     // an interrupt may be on its way to it
	syncing bool     // it was asked to say that none is
	syncs   int      // times it was asked again
	cmd     *section // it waits for the shell, or runs; nil: none does
	last    *section // the command before
	present []proc   // that lived in its tree when the last command had ended
	ooms    int64    // counted so far
	texted  int      // bytes in the file of short texts
}

// comesUp is how long a shell may take until it is ready.
const comesUp = time.Minute

// refuseLive looks at what no process is needed for.
func refuseLive(s backends.Spec) *failure {
	for name := range s.Live.Files {
		if name == "" || name == ctlName || name == stName || name == textName || name == outName || name == errName || strings.ContainsAny(name, "/\x00") {
			return refused(messages.InvalidParams, "files", fmt.Sprintf("%q is no name for a file of a live shell", name))
		}
	}
	return nil
}

// refuseIn does so for a command.
func refuseIn(s backends.Spec) *failure {
	switch {
	case s.Live != nil:
		return refused(messages.InvalidParams, "in", "a live shell is no command of another; start it for itself")
	case len(s.Meta) > backends.MaxMeta:
		return refused(messages.TooLarge, "meta", "the meta of the job is too large")
	case s.Stdio.Stdin == messages.StdinHost:
		return refused(messages.Unsupported, "stdin", "a command in a live shell has no standard input of its host; give it a pipe")
	case s.Stdio.Terminal != messages.Terminal{}:
		if bad := badSize(s.Stdio.Terminal); bad != nil {
			return &failure{err: *bad, shell: shellNotExecutable}
		}
	}
	return nil
}

// begin begins the time in which the shell must be ready. Called with the mu of the job.
func (sh *live) begin() {
	sh.timer.Store(time.AfterFunc(sh.within, func() {
		sh.mu.Lock()
		late := !sh.up && !sh.gone
		sh.mu.Unlock()
		if late {
			sh.job.stop(messages.Cause{By: messages.BySystem, Reason: sh.lateness()}, 0)
		}
	}))
}

func (sh *live) lateness() string { return "the shell was not ready within " + sh.within.String() }

// stopTimer ends the time that begin began.
func (sh *live) stopTimer() {
	if t := sh.timer.Load(); t != nil {
		t.Stop()
	}
}

// hear takes what has come on the status FIFO.
func (sh *live) hear() {
	var then []func()
	buf := make([]byte, 1024)
	sh.mu.Lock()
	sh.st.use(func(fd int) {
		for {
			n, err := sh.job.e.opt.Sys.Read(fd, buf)
			if n <= 0 || err != nil {
				return
			}
			sh.reports.take(buf[:n], func(r report) {
				if f := sh.heard(r); f != nil {
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

// heard takes a report, and gives what follows from it, to be done without a lock; nil:
// nothing. Called with mu.
func (sh *live) heard(r report) func() {
	s := sh.cmd
	switch {
	case sh.gone:
		return nil
	case r.about == reportReady && !sh.up:
		sh.up = true
		sh.goTo(r.cwd)
		sh.stopTimer()
		return sh.call()
	case sh.syncing:
		return sh.synced(r)
	case s == nil || !s.given:
		return nil
	case r.about == reportAgain:
		s.repeat()
		return nil
	case r.about != s.nonce:
		return nil
	case r.runs: // or the shell exits
		sh.goTo(r.cwd)
		return s.opened
	}
	sh.goTo(r.cwd)
	end := ending{at: time.Now(), status: messages.ExitStatus{Code: r.status}}
	if s.part != nil { // the terminal is its own until its output is
		s.given = false
		return func() { s.reported(end) }
	}
	sh.cmd, sh.last = nil, s
	return func() { s.ended(end, false) }
}

// call calls the command that waits for the shell, when that can take it; nil: there is
// nothing to do. Called with mu.
func (sh *live) call() func() {
	s := sh.cmd
	if s == nil || !sh.takes() || sh.gone {
		return nil
	}
	return func() { sh.job.e.queue.push(s.job) }
}

// takes reports whether the shell can take a command now. Called with mu.
func (sh *live) takes() bool { return sh.up && sh.born && !sh.syncing }

// begun says that the job has all it needs to take commands: the shell itself may have
// been ready before.
func (sh *live) begun() {
	sh.mu.Lock()
	sh.born = true
	call := sh.call()
	sh.mu.Unlock()
	if call != nil {
		call()
	}
}

// goTo notes where the shell is.
func (sh *live) goTo(cwd string) {
	if cwd != "" && cwd != *sh.cwd.Load() {
		sh.cwd.Store(&cwd)
	}
}

// died takes the end of the shell: it is that of the command which runs in it.
func (sh *live) died(end ending) {
	sh.hear() // what it said before
	sh.stopTimer()
	sh.mu.Lock()
	first := !sh.gone
	sh.gone, sh.end = true, end
	s := sh.cmd
	given := s != nil && s.given
	if given {
		sh.cmd = nil
	}
	sh.mu.Unlock()
	if !first {
		return
	}
	sh.shut()
	sh.job.e.run(sh.job, sh.explain)
	if given {
		s.outlived(end)
	}
}

// unborn takes the failure of the shell's start: that of the command that waits for it.
func (sh *live) unborn(f *failure) {
	sh.mu.Lock()
	sh.gone, sh.why = true, f
	s := sh.cmd
	sh.mu.Unlock()
	sh.shut()
	if s != nil {
		sh.job.e.run(s.job, func() { s.job.failed(f) })
	}
}

// shut closes the side channel.
func (sh *live) shut() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.made {
		return
	}
	sh.job.e.host.pollset.unlisten(&sh.st)
	sh.st.close()
	for _, fd := range []*int{&sh.ctl, &sh.text} {
		if *fd >= 0 {
			_ = sh.job.e.opt.Sys.Close(*fd)
			*fd = -1
		}
	}
}

// explain says why a shell has ended before it was ready, to the command that waits and
// to those that come.
func (sh *live) explain() {
	f := shellGone()
	if !sh.wasReady() {
		f = sh.stillborn()
		sh.mu.Lock()
		sh.why = f
		sh.mu.Unlock()
	}
	sh.mu.Lock()
	s := sh.cmd
	sh.mu.Unlock()
	if s != nil && !s.preparing.Load() {
		s.job.failed(f)
	}
}

// stillborn is a command whose shell has ended before it was ready.
func (sh *live) stillborn() *failure {
	j := sh.job
	j.mu.Lock()
	cause, streams := j.stoppedFor(), j.streams
	j.mu.Unlock()
	j.lookForEnds(streams)
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

func (sh *live) wasReady() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.up
}

// saidMost is how much of what a shell printed is repeated in an error.
const saidMost = 1 << 10

// said is the end of what the shell has printed.
func (sh *live) said() string {
	log, err := sh.job.e.opt.Store.Open(string(sh.job.id), uint8(messages.Merged))
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
func shellGone() *failure {
	f := refused(messages.SessionClosedCode, "shell_gone", "the live shell of the command has ended")
	f.err.Hint = "start another, and run it there"
	return f
}

// tell gives the shell a line. Called with mu.
func (sh *live) tell(line string) error {
	_, err := sh.job.e.opt.Sys.Write(sh.ctl, []byte(line+"\n"))
	return err
}

// lifeOf finds a live shell.
func (e *Local) lifeOf(id messages.UID) *live {
	if j := e.find(id); j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.live
	}
	return nil
}

// newLive is what a job will have when it is a live shell.
func newLive(j *job, s *backends.LiveShell) *live {
	sh := &live{job: j, within: cmp.Or(s.Within, comesUp), canSync: s.Syncs, text: -1, ctl: -1, st: readEnd{sys: j.e.opt.Sys, fd: -1, shut: true}}
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
