//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"os"
	osignal "os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// platform is the engine's access to a Unix other than Linux: process groups, and a
// thread that waits for children.
type platform struct {
	engine *Local
	sys    Sys
	null   int
	exits  *exits

	inputWatch *inputWatch
}

func newHost(e *Local) (*platform, error) {
	h := &platform{engine: e, sys: e.opt.Sys}
	var err error
	if h.null, err = h.sys.OpenAt(unix.AT_FDCWD, os.DevNull, unix.O_RDONLY); err != nil {
		return nil, err
	}
	if e.opt.Own {
		clearSignals()
	}
	h.exits, err = newExits(h)
	return h, err
}

// clearSignals gives jobs the default action of HUP and INT if this process was started
// with them ignored: a forked child resets signals that have a handler. The process
// ignores them as before. Go shows no other ignored signal here.
func clearSignals() {
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if osignal.Ignored(sig) {
			osignal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// KillLeftovers does nothing: processes have no tag here.
func (e *Local) KillLeftovers(string) (gone bool) { return true }

func (h *platform) features() Features {
	return Features{
		Own: h.engine.opt.Own, Isolation: messages.Group,
		NoCgroup: "there are none on " + runtime.GOOS, NoSubreaper: "there is none on " + runtime.GOOS, Terminals: true,
	}
}

// spawn starts the process of a job.
func (h *platform) spawn(j *job, spec *backends.Spec) ([]*stream, *startError) {
	if spec.Umask >= 0 {
		return nil, refused(messages.Unsupported, "umask", "a job cannot have an umask of its own on "+runtime.GOOS)
	}
	if !spec.Attr.Limits.IsZero() {
		return nil, refused(messages.Unsupported, "limits", "a job cannot have limits of its own on "+runtime.GOOS)
	}
	dir, fail := h.enter(spec)
	if fail != nil {
		return nil, fail
	}
	if dir != unix.AT_FDCWD {
		defer h.sys.Close(dir)
	}
	path, err := lookup(h.sys, dir, spec)
	if err != nil {
		return nil, unexecuted(spec.Argv[0], err)
	}
	io, fail := j.connect(spec, h.null)
	if fail == nil {
		fail = h.fork(j, spec, path, io)
	}
	if fail != nil {
		io.undo(j, fail.again)
		return nil, fail
	}
	return io.streams, nil
}

func (h *platform) enter(spec *backends.Spec) (int, *startError) {
	if spec.Dir == "" {
		return unix.AT_FDCWD, nil
	}
	fd, err := h.sys.OpenAt(unix.AT_FDCWD, spec.Dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return -1, noDirectory(spec.Dir, err)
	}
	return fd, nil
}

func (h *platform) fork(j *job, spec *backends.Spec, path string, io *stdio) *startError {
	j.pass(pointFork)
	if !filepath.IsAbs(path) && spec.Dir != "" {
		path = filepath.Join(spec.Dir, path)
	}
	pid, err := h.sys.Fork(path, spec.Argv, &syscall.ProcAttr{
		Dir: spec.Dir, Env: spec.Env, Files: io.files[:], Sys: &syscall.SysProcAttr{Setsid: true, Setctty: io.term != nil}, // of descriptor 0
	})
	if err != nil {
		return unexecuted(spec.Argv[0], err)
	}
	io.release() // before the exit can be seen: otherwise the output would look open
	j.forked(child{pid: pid, pidfd: -1, tree: &groupTree{platform: h, job: j}, streams: io.streams, stdin: io.stdin, term: io.term, flags: io.flags})
	h.exits.add(pid, j)
	return nil
}

// hasExited reports whether the main process was reaped: an exit is not known before.
func (h *platform) hasExited(r *mainProcess) bool { return r.reaped() }

// ends returns false: an exit cannot be seen before the reap.
func (h *platform) ends(int) bool { return false }

func (h *platform) describe(pid int) []messages.Survivor {
	return []messages.Survivor{{PID: pid, State: "?"}}
}

func (h *platform) verify(_ *job, verified func()) { verified() }

// settleForks does nothing: a fork here ends with the child's exec, within the callers'
// bounds.
func (h *platform) settleForks() {}

func (h *platform) endOrphans(bool) []messages.Survivor { return nil }

func (h *platform) close(bool) { h.exits.close() }

// release closes the descriptor of the engine's goroutines after these have ended.
func (h *platform) release() { _ = h.sys.Close(h.null) }

const (
	pollFirst = 2 * time.Millisecond
	pollLast  = 2 * time.Second
)

// peekExit does nothing: only the reap returns the exit here.
func (j *job) peekExit(*mainExit) bool { return false }

// recall does nothing: the status can be read only once here.
func (r *mainProcess) recall(*unix.WaitStatus) bool { return false }

// inputWatch is empty: no system call shows what a process waits for.
type inputWatch struct{}

func (*inputWatch) soon(*job) {}

// awaitInput refuses the request.
func (h *platform) awaitInput(j *job, _ time.Duration, to *answer) {
	j.answer(to, messages.ControlRefused{Err: messages.Error{
		Code: messages.Unsupported, Reason: "input", Message: "cannot detect whether a job waits for input on " + runtime.GOOS,
		Hint: "wait for a pattern that the job writes when it asks",
	}})
}

// begin starts copying output, in its own goroutine.
func (s *stream) begin() { s.handOver() }

// attachShared returns false: streams share no goroutine here.
func (s *stream) attachShared() bool { return false }

// detachShared returns false: there is nothing to detach.
func (s *stream) detachShared() bool { return false }

// terminals returns 0: they are not counted here.
func terminals(Sys) (used, most int) { return 0, 0 }

// askFront does nothing: processes of other groups are not visible here.
func (h *platform) askFront(*job, int) {}

// termRest returns nil, since the first TERM reaches all that can be reached here. On a
// terminal it returns a function that sends HUP, since interactive shells ignore TERM.
func (h *platform) termRest(j *job, _ int) func() {
	if j.term == nil {
		return nil
	}
	return func() { j.tree.signal(unix.SIGHUP, unix.SIGCONT) }
}
