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
	"troupe/internal/limits"
	"troupe/messages"
)

const (
	// memoryLimit is the runtime's limit for a keeper. gcPercent is for the keeper of a single
	// job; others use package heap. Ten thousand jobs take 64 MiB. With a limit near the live
	// heap, the keeper would only collect garbage.
	memoryLimit = 112 << 20
	gcPercent   = 50
	// heapFloor is the heap size below which no garbage is collected.
	heapFloor = 8 << 20
	// maxErrors bounds the error file, in bytes; it is then truncated. onlyJobErrors is for the
	// keeper of a single job.
	maxErrors     = 1 << 20
	onlyJobErrors = 16 << 10
	// endGrace is the grace of jobs when the keeper is stopped.
	endGrace = 5 * time.Second
)

// Main runs this process as a keeper until a client or SIGTERM ends it. The process
// must do nothing else. fd is an inherited socket; negative: none. alone is
// Options.Alone. given holds the limits of jobs that the starter has raised for itself.
func Main(dir string, fd int, build string, noCgroup, alone bool, given limits.Given) error {
	closeInherited(fd)
	given = limits.Raise(given)
	if limits.Refuse("keeper", limits.Examine(os.Getpid())) == nil { // Serve reports it
		threads.Reserve()()
	}
	debug.SetMemoryLimit(memoryLimit)
	most := int64(maxErrors)
	if alone {
		debug.SetGCPercent(gcPercent)
		most = onlyJobErrors
	} else {
		heap.Tune(heapFloor)
	}
	o := Options{Dir: dir, Build: build, Grace: endGrace, NoCgroup: noCgroup, SoftLimits: given.Soft, OOMScoreAdj: given.OOM, Alone: alone, Fault: saysFaults(os.Stderr, most)}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // other processes of the user must not read its memory
	if fd >= 0 {
		unix.CloseOnExec(fd)
		o.Conn = os.NewFile(uintptr(fd), "client")
	}
	// HUP and PIPE do not end a keeper.
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

// leaveCgroup removes the cgroup of this keeper at its end. The process moves to the
// parent cgroup before.
func leaveCgroup() {
	own := ownCgroup()
	if !strings.HasPrefix(filepath.Base(own), cgroupPrefix) {
		return
	}
	if os.WriteFile(filepath.Join(filepath.Dir(own), "cgroup.procs"), []byte("0"), 0) == nil {
		_ = unix.Rmdir(own)
	}
}

// saysFaults returns a function that writes faults to w, and truncates it at most bytes.
func saysFaults(w *os.File, most int64) func(messages.UID, error) {
	return func(job messages.UID, fault error) {
		if st, err := w.Stat(); err == nil && st.Mode().IsRegular() && st.Size() > most {
			_ = w.Truncate(0) // writes append
		}
		_, _ = fmt.Fprintf(w, "%s %s %v\n", time.Now().UTC().Format(time.RFC3339Nano), job, fault)
	}
}

// closeInherited closes inherited descriptors, except the first three and keep.
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
