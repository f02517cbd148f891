package keeper

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends/heap"
	"troupe/backends/threads"
	"troupe/messages"
)

const (
	// memoryLimit is what the runtime keeps a keeper below, and gcPercent how eagerly one
	// of a single job; any other goes by package heap. Ten thousand jobs take 64 MiB. At a
	// limit that is as low as the live heap, the keeper only collects garbage.
	memoryLimit = 112 << 20
	gcPercent   = 50
	// heapFloor is what it may have before it looks for garbage at all; one for a single
	// job starts few.
	heapFloor = 8 << 20
	// killedLast is the rank of a keeper among what the kernel ends for want of
	// memory, where it may have it.
	killedLast = -900
	// maxErrors bounds the file of what goes wrong: then it begins anew.
	maxErrors = 1 << 20
	// endGrace is what jobs have to end when the keeper is told to end.
	endGrace = 5 * time.Second
)

// Main is the role of a keeper: it makes this process one and serves until a
// client ends it, or SIGTERM does. The process must do nothing else. fd is the
// descriptor of an inherited socket pair; negative: none. alone is as Options.Alone.
func Main(dir string, fd int, build string, noCgroup, alone bool) error {
	closeInherited(fd)
	threads.Reserve()
	debug.SetMemoryLimit(memoryLimit)
	if alone {
		debug.SetGCPercent(gcPercent)
	} else {
		heap.Tune(heapFloor)
	}
	o := Options{Dir: dir, Build: build, Grace: endGrace, NoCgroup: noCgroup, Alone: alone, Spared: rankLast(), Fault: saysFaults(os.Stderr)}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // its memory and its descriptors are nobody else's
	if fd >= 0 {
		unix.CloseOnExec(fd)
		o.Conn = os.NewFile(uintptr(fd), "client")
	}
	// A signal that is ignored would be by every job, too.
	unwanted := make(chan os.Signal, 1)
	signal.Notify(unwanted, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		for range unwanted {
		}
	}()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	err := Serve(ctx, o)
	leaveCgroup()
	return err
}

// leaveCgroup removes the cgroup that was made for this keeper, which has ended:
// it goes up, where whoever started it was, for its last moment.
func leaveCgroup() {
	own := ownCgroup()
	if !strings.HasPrefix(filepath.Base(own), cgroupPrefix) {
		return
	}
	if os.WriteFile(filepath.Join(filepath.Dir(own), "cgroup.procs"), []byte("0"), 0) == nil {
		_ = unix.Rmdir(own)
	}
}

// saysFaults says what the keeper survives, for who looks into it.
func saysFaults(w *os.File) func(messages.UID, error) {
	return func(job messages.UID, fault error) {
		if st, err := w.Stat(); err == nil && st.Mode().IsRegular() && st.Size() > maxErrors {
			_ = w.Truncate(0) // it is written at its end
		}
		_, _ = fmt.Fprintf(w, "%s %s %v\n", time.Now().UTC().Format(time.RFC3339Nano), job, fault)
	}
}

// closeInherited closes what whoever started this process left open: the
// descriptors that survive an exec, but for the first three and keep.
func closeInherited(keep int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 || fd == keep {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// rankLast makes this process one of the last that the kernel ends for want of
// memory, if it may. It returns what the rank was.
func rankLast() *int {
	const file = "/proc/self/oom_score_adj"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	before, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || before <= killedLast {
		return nil
	}
	if os.WriteFile(file, []byte(strconv.Itoa(killedLast)), 0) != nil {
		return nil
	}
	return &before
}
