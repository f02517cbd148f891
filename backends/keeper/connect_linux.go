package keeper

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// startBound bounds the start of a keeper, until its hello: it may wait for its
// predecessor's lease, and kill leftovers.
const startBound = 2*leaseBound + remainsBound

// connector connects to the keeper of a directory, and starts one if there is none.
type connector struct {
	o ClientOptions

	mu       sync.Mutex
	children sync.WaitGroup // keepers started here
	cgroup   string         // made for the keepers
}

// connect returns a connection on which both sides have sent hello.
func (f *connector) connect(me hello) (*conn, hello, error) {
	woken := false
	for pause, tries := findFirst, 0; ; pause, tries = 2*pause, tries+1 {
		c, h, err := f.once(me)
		if silent := (*unresponsiveError)(nil); errors.As(err, &silent) {
			if !woken && !f.o.leave && stoppedNow(silent.pid) {
				woken = true
				wake(silent.pid)
				continue
			}
			return nil, h, errSilent(silent.pid)
		}
		if !errors.Is(err, errHungUp) && !errors.Is(err, errEnding) || tries == greetTries {
			return c, h, err
		}
		<-time.NewTimer(pause).C // it is about to end; a successor follows
	}
}

// greetTries attempts take five seconds: the pause doubles from findFirst.
const greetTries = 10

// once makes one attempt. A keeper that could not start may have removed its directory.
func (f *connector) once(me hello) (*conn, hello, error) {
	dir, err := openDir(f.o.Dir, len(f.o.Program) > 0)
	if err != nil {
		return nil, hello{}, err
	}
	defer dir.Close()
	c, err := dial(dir, socketName)
	if err == nil {
		h, err := f.greetListener(c, me)
		return c, h, err
	}
	if errors.Is(err, unix.EAGAIN) { // its backlog is full
		return nil, hello{}, &unresponsiveError{}
	}
	absent := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED)
	if absent {
		if c, err = awaitRecreatedSocket(dir, err); err == nil {
			h, err := f.greetListener(c, me)
			return c, h, err
		}
		absent = errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED)
	}
	if !absent || len(f.o.Program) == 0 {
		if absent {
			err = refused(errNoKeeper.Code, errNoKeeper.Reason, "there is no keeper in "+f.o.Dir, "start one")
		}
		return nil, hello{}, err
	}
	if c, err = f.start(dir); err != nil {
		return nil, hello{}, fmt.Errorf("a keeper cannot be started: %w", err)
	}
	h, err := greet(c, me, startBound)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errNoHello
	}
	if errors.Is(err, errRunning) { // another process has started one
		if c, err = dial(dir, socketName); err == nil {
			h, err = f.greetListener(c, me)
		} else if errors.Is(err, unix.ENOENT) {
			err = errNoSocket(f.o.Dir)
		}
	}
	return c, h, err
}

// errNoSocket reports a running keeper whose socket was removed and not made again.
func errNoSocket(dir string) error {
	return refused(messages.Refused, "socket", "the keeper of "+dir+" is running, but its socket was removed",
		"fuser "+filepath.Join(dir, lockName)+" shows its process; kill (TERM) stops it and its jobs, and the next daemon starts another")
}

// errNoHello reports a started keeper that sends no hello.
var errNoHello = refused(messages.Internal, "hello", "the keeper that was started did not say hello", "see "+errorsName+" in its directory")

// unresponsiveError reports a running keeper that sends no hello.
type unresponsiveError struct{ pid int }

func (e *unresponsiveError) Error() string { return errSilent(e.pid).Error() }

// greetListener greets a keeper that was running before.
func (f *connector) greetListener(c *conn, me hello) (hello, error) {
	pid := c.listener()
	bound := helloBound
	if f.o.heartbeat > 0 {
		bound = 3 * f.o.heartbeat
	}
	h, err := greet(c, me, bound)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return h, &unresponsiveError{pid}
	}
	if errors.Is(err, errProtocol) && !me.End { // a keeper of before does not name itself
		e := asError(err)
		err = refused(e.Code, e.Reason, fmt.Sprintf("the keeper of %s (process %d) is of another version of troupe, and says: %s", f.o.Dir, pid, e.Message), endHint)
	}
	return h, err
}

// errNoKeeper matches the error of a directory without a keeper.
var errNoKeeper = &messages.Error{Code: messages.NotFound, Reason: "keeper"}

// errHungUp reports a keeper that ended before its hello.
var errHungUp = refused(messages.Internal, "hung_up", "the keeper ended before it said hello", "see "+errorsName+" in its directory")

// greet sends hello and waits for the answer. Without one it closes the connection.
func greet(c *conn, me hello, bound time.Duration) (h hello, err error) {
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err := c.trySend(appendJSON(frameHello, me), nil); err != nil {
		return h, errHungUp
	}
	c.setReadDeadline(time.Now().Add(bound))
	p, files, err := c.recv()
	closeAll(files)
	if errors.Is(err, unix.ECONNRESET) { // it has not read our hello; its error may follow
		p, files, err = c.recv()
		closeAll(files)
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			return h, errHungUp
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return h, err
		}
		return h, refused(messages.Internal, "keeper", "the keeper did not say hello: "+err.Error(), "see "+errorsName+" in its directory")
	}
	c.setReadDeadline(time.Time{})
	if h, err = parseHello(p); err == nil && h.Proto != me.Proto && !me.End {
		err = otherProtocol(me.Proto, h.Proto)
	}
	return h, err
}

// start starts a keeper in its own process session and cgroup. It inherits only one end
// of a socket pair.
func (f *connector) start(dir *os.File) (*conn, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "keeper"), os.NewFile(uintptr(fds[1]), "client")
	defer theirs.Close()
	c, err := fileConn(ours)
	if err != nil {
		return nil, err
	}
	if err = f.fork(dir, theirs); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// keptVars lists the environment variables that a keeper gets; none is secret.
var keptVars = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TZ"}

func (f *connector) fork(dir, socket *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	said, err := openIn(dir, errorsName, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND)
	if err != nil {
		return err
	}
	defer said.Close()
	env := f.o.Env
	if env == nil {
		env = []string{} // nil would pass the whole environment
		for _, name := range keptVars {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	attr := &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{null, null, said, socket},
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	argv := append(append([]string(nil), f.o.Program...), "--dir", f.o.Dir, "--fd", "3")
	var child *os.Process
	if cgroup := f.makeCgroup(); cgroup != nil {
		_ = withFd(cgroup, func(fd int) error { // if refused, it starts without
			attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
			var err error
			child, err = os.StartProcess(argv[0], argv, attr)
			return err
		})
		_ = cgroup.Close()
		attr.Sys.UseCgroupFD = false
	}
	if child == nil {
		if child, err = os.StartProcess(argv[0], argv, attr); err != nil {
			return err
		}
	}
	f.children.Go(func() { _, _ = child.Wait() })
	return nil
}

// cgroupPrefix is the prefix of a keeper's cgroup name.
const cgroupPrefix = "troupe.keeper-"

// makeCgroup makes the keeper's cgroup beside that of this process, so that each
// outlives the other, or below it; nil: impossible. Its name depends on the directory,
// so that the next keeper finds what the last one left.
func (f *connector) makeCgroup() *os.File {
	own := ownCgroup()
	if own == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(f.o.Dir))
	name := cgroupPrefix + hex.EncodeToString(sum[:8])
	var places []string
	if filepath.Base(own) == name { // this process is in it
		places = []string{filepath.Dir(own)}
	} else {
		if _, err := os.Stat(filepath.Join(own, "cgroup.type")); err == nil { // the root has no such file
			places = append(places, filepath.Dir(own))
		}
		places = append(places, own)
	}
	for _, place := range places {
		path := filepath.Join(place, name)
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			continue
		}
		dir, err := os.Open(path)
		if err != nil {
			continue
		}
		f.mu.Lock()
		f.cgroup = path
		f.mu.Unlock()
		return dir
	}
	return nil
}

// ownCgroup returns the directory of this process's cgroup v2; "": none.
func ownCgroup() string {
	member, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	_, own, ok := strings.Cut("\n"+string(member), "\n0::")
	if !ok {
		return ""
	}
	own, _, _ = strings.Cut(own, "\n")
	for line := range strings.Lines(string(mounts)) {
		// 41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		if below, ok := strings.CutPrefix(own, strings.TrimRight(fields[3], "/")); ok && !strings.HasPrefix(below, "/..") {
			return filepath.Join(fields[4], below)
		}
	}
	return ""
}

// close reaps the keepers started here, if they have ended, and removes their cgroup.
func (f *connector) close(ended bool) {
	if !ended {
		return // they run on
	}
	f.children.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cgroup != "" {
		_ = unix.Rmdir(f.cgroup)
	}
}
