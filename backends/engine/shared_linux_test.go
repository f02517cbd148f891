package engine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// attended reports whether a stream is among the quiet ones.
func attended(s *stream) bool {
	p := s.job.engine.host.pollset
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.quiet[s.tag] == s
}

func (r *rig) streams(e *ear) []*stream {
	j := r.e.find(e.id)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.streams
}

// Jobs that live and say nothing cost no goroutine, whatever their number.
func TestSilentJobsHaveNoGoroutine(t *testing.T) {
	const jobs, constant = 200, 20
	r := newRig(t)
	up := r.up("echo up; sleep 1000") // the engine has begun what it begins once
	before := runtime.NumGoroutine()
	ears := []*ear{up}
	for i := range jobs {
		s := r.argv("sleep", "1000")
		if i%2 == 0 {
			s.Stdio.Streams = messages.SeparateStreams
		}
		ears = append(ears, r.start(s))
	}
	for _, e := range ears {
		await[messages.ProcessStarted](e)
	}
	if after := runtime.NumGoroutine(); after > before+constant {
		t.Errorf("%d goroutines before %d jobs, %d with them", before, jobs, after)
	}
	for _, e := range ears {
		e.proc.Stop(client(), 0)
	}
	for _, e := range ears {
		e.over()
	}
	p := r.e.host.pollset
	until(t, func() bool { // an exit is told before its pipe is closed
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.quiet) == 0
	})
}

// A stream that was quiet, and then is not, gets a goroutine of its own and
// loses no byte by that, with many at once.
func TestQuietStreamBecomesChatty(t *testing.T) {
	const jobs, lines = 24, 300_000
	r := newRig(t)
	var want strings.Builder
	want.WriteString("1\n2\n")
	for i := range lines {
		fmt.Fprintln(&want, i+1)
	}
	sum := sha256.Sum256([]byte(want.String()))
	var all sync.WaitGroup
	for range jobs {
		e := r.asking(fmt.Sprintf("echo 1; read x; echo 2; read x; seq 1 %d", lines))
		all.Go(func() {
			e.grown(messages.Merged, 1)
			e.nod()
			e.grown(messages.Merged, 3)
			if !attended(r.streams(e)[0]) {
				t.Error("a quiet stream has a goroutine of its own")
			}
			e.nod()
			if x := e.over(); x.Sizes[0] != int64(want.Len()) {
				t.Errorf("%+v, want %d bytes", x, want.Len())
			}
			if sha256.Sum256([]byte(r.output(e, messages.Merged))) != sum {
				t.Error("other bytes came than were written")
			}
		})
	}
	all.Wait()
}

// A stream that speaks very often gets a goroutine of its own, however little it
// says; one that has spoken as much in a long time does not.
func TestTalkativeStreamIsNotQuiet(t *testing.T) {
	r := newRig(t)
	e := r.asking("read x; echo hi; read x")
	await[messages.ProcessStarted](e)
	s := r.streams(e)[0]
	for range 3 { // nobody else counts: the job is silent
		s.since = time.Now().Add(-2 * quietSpan) // what was said is long ago
		for range quietEvents {
			s.ready()
		}
		if !attended(s) {
			t.Error("it is not attended to any more")
		}
	}
	s.ready()
	if attended(s) {
		t.Error("it is quiet still")
	}
	e.nod()
	e.grown(messages.Merged, 2)
	e.nod()
	if x := e.over(); x.Sizes[0] != 3 {
		t.Errorf("%+v", x)
	}
}

// The end of a quiet stream seals its log and gives its pipe back while the job
// goes on.
func TestQuietStreamEnds(t *testing.T) {
	r := newRig(t)
	e := r.asking("echo hi; read x; exec > /dev/null 2>&1; read x")
	e.grown(messages.Merged, 2)
	out := r.streams(e)[0]
	open := openFiles(t)
	e.nod()
	within(t, out.ended.channel())
	until(t, func() bool { return openFiles(t) == open-1 })
	if !out.end.closed() || out.end.file != nil || attended(out) {
		t.Error("the pipe was not closed by the common goroutine")
	}
	log := r.log(e, messages.Merged)
	defer log.Close()
	if st := log.State(); !st.Closed || st.Size != 3 {
		t.Errorf("%+v", st)
	}
	e.nod()
	if x := e.over(); x.Sizes[0] != 3 || x.OutputOpen {
		t.Errorf("%+v", x)
	}
}

// unattended refuses to watch pipes, and processes if all is set.
type unattended struct {
	kernel
	all bool
}

func (u unattended) EpollAdd(ep, fd int, events uint32, tag uint64) error {
	if u.all || events&unix.EPOLLET != 0 {
		return unix.ENOSPC
	}
	return u.kernel.EpollAdd(ep, fd, events, tag)
}

// unpolled refuses to make a set.
type unpolled struct{ kernel }

func (unpolled) EpollCreate() (int, error) { return -1, unix.EMFILE }

// unwatched has the kernel watch nothing more, for us or for the netpoller, as at
// fs.epoll.max_user_watches: a descriptor that somebody else has put there is
// refused. It lasts while full is set.
type unwatched struct {
	kernel
	full *atomic.Bool
}

func (u unwatched) EpollAdd(ep, fd int, events uint32, tag uint64) error {
	if u.full.Load() {
		return unix.ENOSPC
	}
	return u.kernel.EpollAdd(ep, fd, events, tag)
}

func (u unwatched) SetNonblock(fd int) error {
	err := u.kernel.SetNonblock(fd)
	if u.full.Load() {
		squat(fd)
	}
	return err
}

func (u unwatched) InotifyInit() (int, error) {
	fd, err := u.kernel.InotifyInit()
	if err == nil && u.full.Load() {
		squat(fd)
	}
	return fd, err
}

// squatters are kept for good: a file that nobody holds is closed, and its number
// is another's by then.
var squatters struct {
	sync.Mutex
	files []*os.File
}

// squat puts a descriptor that never waits into the netpoller.
func squat(fd int) {
	squatters.Lock()
	defer squatters.Unlock()
	squatters.files = append(squatters.files, os.NewFile(uintptr(fd), "squatter"))
}

// Where the kernel watches nothing more the engine looks, and loses no byte of
// what a job says or is given. What can be watched again is.
func TestFaultNoWatchAtAll(t *testing.T) {
	full := &atomic.Bool{}
	full.Store(true)
	r := newRig(t, func(o *Options) { o.Sys = unwatched{full: full} })
	e := r.asking("echo up; read x; seq 1 100000; read x; wc -c; read x")
	e.grown(messages.Merged, 0)
	if attended(r.streams(e)[0]) || r.e.host.pollset.file != nil {
		t.Error("it is watched")
	}
	e.nod()
	e.grown(messages.Merged, 588_897)
	e.nod()
	e.proc.Do(backends.Input{Data: make([]byte, messages.MaxInput-1)})
	full.Store(false)
	until(t, func() bool { return attended(r.streams(e)[0]) })
	e.proc.Do(backends.CloseInput{})
	if x := e.over(); x.Sizes[0] != 588_898+7 || x.Status.Code != 1 || len(x.Flags) > 0 {
		t.Errorf("%+v", x)
	}
	if got := r.output(e, messages.Merged); !strings.HasSuffix(got, "\n100000\n262143\n") {
		t.Errorf("it says %q", got[max(0, len(got)-20):])
	}
	// A stream that never waits for the others, and what is left behind in a cgroup.
	full.Store(true)
	s := r.spec("echo up; sleep 0.3; seq 1 100000 & exit 3")
	s.Log.Durability = spill.FsyncOnExit
	e = r.start(s)
	if x := e.over(); x.Status.Code != 3 || len(r.output(e, messages.Merged)) != 588_898 {
		t.Errorf("%+v", x)
	}
}

// Where a pipe cannot be watched with the others it has a goroutine of its own,
// and everything goes on as ever.
func TestFaultNoCommonWatch(t *testing.T) {
	for name, sys := range map[string]Sys{"pipes": unattended{}, "all": unattended{all: true}, "no set": unpolled{}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Sys = sys })
			e := r.asking("echo up; read x; seq 1 100000; exit 3")
			e.grown(messages.Merged, 0)
			if attended(r.streams(e)[0]) {
				t.Error("it is watched")
			}
			e.nod()
			if x := e.over(); x.Status.Code != 3 || x.Sizes[0] != 588_898 {
				t.Errorf("%+v", x)
			}
		})
	}
}

// A log is sealed at the end of the engine although somebody whom the engine does
// not know holds the pipe, whoever waits for that.
func TestCloseSealsWhatIsWrittenStill(t *testing.T) {
	for name, d := range map[string]spill.Durability{"quiet": spill.Memory, "pumped": spill.FsyncOnExit} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			spec := r.spec("echo up; sleep 1000")
			spec.Log.Durability = d
			e := r.start(spec)
			e.grown(messages.Merged, 2)
			s := r.streams(e)[0]
			if attended(s) != (d == spill.Memory) {
				t.Errorf("attended: %v", attended(s))
			}
			r.closeSeals(t, e, s, 3)
		})
	}
}

// The end of the engine ends what holds a terminal, and seals what somebody else holds.
func TestCloseSealsATerminalThatIsHeld(t *testing.T) {
	for name, d := range map[string]spill.Durability{"quiet": spill.Memory, "pumped": spill.FsyncOnExit} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			spec := r.terminalSpec("echo up; sleep 1000")
			spec.Log.Durability = d
			e := r.start(spec)
			r.says(e, "up")
			r.closeSeals(t, e, r.streams(e)[0], 4)
		})
	}
}

// closeSeals ends the engine while somebody else holds the output of a job, and looks at
// the log: it has so many bytes, and takes no more.
func (r *rig) closeSeals(t *testing.T, e *ear, s *stream, size int64) {
	t.Helper()
	pid := await[messages.ProcessStarted](e).PID
	holder, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pid), os.O_WRONLY|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	r.e.Close(false)
	within(t, s.ended.channel())
	if _, err := holder.WriteString("late"); err == nil {
		t.Error("the output is open still")
	}
	log := r.log(e, messages.Merged)
	defer log.Close()
	if st := log.State(); !st.Closed || st.Size != size {
		t.Errorf("%+v", st)
	}
}

// What uses a descriptor keeps it from being closed, and nothing uses it after.
func TestReadEndIsClosedBehindItsUsers(t *testing.T) {
	for range 200 {
		read, write, err := kernel{}.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := (kernel{}).SetNonblock(read); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Write(write, []byte("hi")); err != nil {
			t.Fatal(err)
		}
		var calls closings
		end := readEnd{sys: &calls, fd: read}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for end.use(func(fd int) {
					if n, err := (kernel{}).BytesReadable(fd); n != 2 || err != nil {
						t.Errorf("%d bytes, %v", n, err)
					}
				}) {
					runtime.Gosched()
				}
			})
		}
		all.Go(end.close)
		all.Go(end.close)
		all.Wait()
		if n := calls.n.Load(); n != 1 {
			t.Errorf("closed %d times", n)
		}
		unix.Close(write)
	}
}

// closings counts closes.
type closings struct {
	kernel
	n atomic.Int32
}

func (c *closings) Close(fd int) error {
	c.n.Add(1)
	return c.kernel.Close(fd)
}
