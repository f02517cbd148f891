package spill

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// F33: a process without a descriptor to spare makes no log, and loses nothing.
func TestFaultNoDescriptors(t *testing.T) {
	for name, plan := range map[string]Plan{"memory": {}, "a file": {Inline: -1}} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			_, err := d.Dir()
			must(t, err)
			w, p := create(t, d, "j1", plan), newPipe(t)
			free := exhaust(t)
			blocked(t, w, p, text(60_000), unix.EMFILE)
			free()
			unblocked(t, w, p)
			want(t, d, "j1", text(60_000), nil, 0)
		})
	}
}

// exhaust takes all descriptors there are, and gives them back when told to.
func exhaust(t *testing.T) (free func()) {
	t.Helper()
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	few := before
	few.Cur = 128
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	var taken []int
	for {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	free = sync.OnceFunc(func() {
		for _, fd := range taken {
			unix.Close(fd)
		}
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	})
	t.Cleanup(free)
	return free
}

// F33: the outputs of finished jobs, which nobody reads, leave most descriptors to
// others, however few a process may have.
func TestFaultFinishedLogsLeaveDescriptors(t *testing.T) {
	few := room(t, 64)
	jobs := few/4 + 100 // two logs each; fewer than are kept
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	limit := func(n uint64) { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: before.Max})) }
	for name, c := range map[string]struct {
		plan    Plan
		persist bool
		most    int
	}{"memory": {most: few / 4}, "files": {plan: Plan{Inline: -1}, most: few / 8}, "made files later": {persist: true, most: few / 8}} {
		t.Run(name, func(t *testing.T) {
			limit(uint64(few)) // as it is when the store is opened
			d := newDisk(t)
			limit(before.Cur) // others in this process may have more
			began := descriptors(t)
			for i := range jobs {
				id := fmt.Sprint("j", i)
				for _, stream := range []uint8{Stdout, Stderr} {
					w, err := d.Create(id, stream, c.plan)
					must(t, err)
					_, err = w.Append([]byte("said"))
					must(t, err)
					must(t, w.Seal())
				}
				if c.persist {
					must(t, d.Persist(id, 0))
				}
			}
			if more := descriptors(t) - began; more > c.most {
				t.Errorf("%d of %d descriptors are held for %d finished jobs", more, few, jobs)
			}
			log, err := d.Open("j0", Stderr)
			must(t, err)
			defer log.Close()
			if got := readAll(t, log); string(got) != "said" {
				t.Errorf("the first one says %q", got)
			}
		})
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(names)
}

// room is the smallest limit of descriptors below which so many are free.
func room(t *testing.T, free int) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	used := map[string]bool{}
	for _, n := range names {
		used[n.Name()] = true
	}
	limit := 0
	for ; free > 0; limit++ {
		if !used[strconv.Itoa(limit)] {
			free--
		}
	}
	return limit
}

// F39: a directory that may not be entered is refused by name at the start, and
// later holds the bytes back until it may be entered again.
func TestFaultForbiddenDirectory(t *testing.T) {
	ordinary(t)
	d := newDisk(t)
	root := d.tree.given
	must(t, os.Mkdir(root, 0))
	_, swept := d.Sweep()
	_, made := d.Dir()
	for _, err := range []error{swept, made} {
		if !errors.Is(err, unix.EACCES) || !strings.Contains(err.Error(), root) {
			t.Errorf("got %v", err)
		}
	}
	must(t, os.Chmod(root, 0o700))
	w, p := create(t, d, "j1", Plan{}), newPipe(t)
	push(t, w, p, text(InlineLimit))
	node, err := d.Dir()
	must(t, err)
	must(t, os.Chmod(node, 0))
	blocked(t, w, p, text(100_000)[InlineLimit:], unix.EACCES)
	must(t, os.Chmod(node, 0o700))
	unblocked(t, w, p)
	want(t, d, "j1", text(100_000), nil, 0)
}

// ordinary takes from the rest of this test the right to enter what it may not:
// the thread that has given it up ends with the test.
func ordinary(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	must(t, unix.Capget(&head, &caps[0]))
	caps[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	must(t, unix.Capset(&head, &caps[0]))
}
