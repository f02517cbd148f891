package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends/engine"
	"troupe/messages"
)

const (
	// remainsBound bounds the wait for a dead keeper's killed processes.
	remainsBound = 5 * time.Second
	remainsPause = 10 * time.Millisecond
	remainsLast  = 500 * time.Millisecond
)

// endLeftovers kills the processes of a dead keeper's jobs: those in its cgroups, with
// its tag, and main processes that still match their start time. It returns survivors
// by job, unknown ones under "".
func (s *server) endLeftovers(left *journalTable, boot string) map[messages.UID][]messages.Survivor {
	if left.opened == nil || left.opened.BootID != boot { // even without jobs: it may have died between a fork and its record
		return nil
	}
	endCgroup(left.opened)
	survivors := map[messages.UID][]messages.Survivor{}
	deadline := time.Now().Add(remainsBound)
	for pause := remainsPause; ; pause = min(2*pause, remainsLast) {
		gone := s.engine.KillLeftovers(left.opened.Keeper)
		clear(survivors)
		for id, p := range left.jobs {
			if p.exited == nil && endMain(p.started) {
				survivors[id] = []messages.Survivor{{PID: p.started.PID, State: "?", Why: "it did not end after its keeper had died"}}
			}
		}
		emptied := cgroupEmpty(left.opened)
		if gone && emptied && len(survivors) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			s.fault("", errors.New("processes of the last keeper's jobs survive"))
			return survivors
		}
		t := time.NewTimer(pause)
		<-t.C
	}
}

// cgroupOf returns the directory of a keeper's cgroups, if its name matches the keeper.
func cgroupOf(opened *entry) (string, bool) {
	name := filepath.Base(opened.Cgroup)
	return opened.Cgroup, filepath.IsAbs(opened.Cgroup) && strings.HasPrefix(name, "troupe-"+opened.Keeper+"-")
}

// endCgroup kills all processes in a keeper's cgroups. The new engine has done so if
// they are beside its own.
func endCgroup(opened *entry) {
	dir, ok := cgroupOf(opened)
	if !ok {
		return
	}
	if f, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("1")
		_ = f.Close()
	}
}

// cgroupEmpty reports whether a keeper's cgroups are empty, and then removes them.
func cgroupEmpty(opened *entry) bool {
	dir, ok := cgroupOf(opened)
	if !ok {
		return true
	}
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV)
	}
	if !bytes.Contains(text, []byte("populated 0")) {
		return false
	}
	below, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.events"))
	for _, file := range below {
		_ = unix.Rmdir(filepath.Dir(file))
	}
	_ = unix.Rmdir(dir)
	return true
}

// endMain kills the main process of a job if its start time matches, and reports
// whether it was alive.
func endMain(started *entry) bool {
	if started.PID <= 0 || started.StartTime == 0 {
		return false
	}
	fd, err := unix.PidfdOpen(started.PID, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if start, dead := startOf(started.PID); dead || start != started.StartTime {
		return false
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	return true
}

// startOf returns the start time of a process; dead: it is a zombie or gone.
func startOf(pid int) (start uint64, dead bool) {
	f := statOf(pid)
	if len(f) < 20 {
		return 0, true
	}
	start, _ = strconv.ParseUint(f[19], 10, 64)
	return start, f[0] == "Z" || f[0] == "X"
}

// statOf returns the fields of /proc/PID/stat after the name, which may contain
// anything.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// restore gives the engine the jobs of a dead keeper, with the recorded result or as
// lost.
func (s *server) restore(left *journalTable, boot string, survivors map[messages.UID][]messages.Survivor) {
	for id, p := range left.jobs {
		c := &servedJob{separate: p.started.Separate, meta: p.meta, started: true, over: true, left: p}
		s.jobs[id] = c
		r := engine.Restored{ID: id, Meta: p.meta, Facts: s.factsOf(p, left.opened != nil && left.opened.BootID != boot, survivors[id])}
		if p.started.PID != 0 {
			r.Started = &messages.ProcessStarted{PID: p.started.PID, StartTime: p.started.StartTime, At: p.started.At, Isolation: p.started.Isolation}
		}
		s.engine.Restore(r)
	}
}

// factsOf returns the facts that the client has not settled. withOutput completes them.
func (s *server) factsOf(p *journaledJob, rebooted bool, survivors []messages.Survivor) []messages.ProcessFact {
	end := p.drained
	if end == nil {
		end = p.exited
	}
	if end == nil {
		lost := messages.ProcessLost{At: time.Now(), Survivors: survivors, Err: *refused(messages.Internal, "keeper",
			"the keeper died while the job ran; how the job ended is unknown", lostHint)}
		switch {
		case rebooted:
			lost.Err.Reason, lost.Err.Message = "reboot", "the machine went down while the job ran; how the job ended is unknown"
		case p.started.PID == 0:
			lost.Err.Message = "the keeper died while it started the job; whether the job has run is unknown, so it is not started again"
		}
		return []messages.ProcessFact{lost}
	}
	var facts []messages.ProcessFact
	if s.options.Alone || p.drained == nil || p.settled < p.drained.Seq {
		exited := messages.ProcessExited{
			Status: end.Status, Cause: end.Cause, At: end.At, OOM: end.OOM, Rusage: end.Rusage, Flags: end.Flags, Dir: end.Dir, Pipe: end.Pipe, Survivors: survivors,
		}
		if p.drained != nil {
			exited.Seq = p.drained.Seq
			if p.exited != nil {
				exited.At = p.exited.At
			}
		}
		facts = append(facts, exited)
	}
	return append(facts, messages.OutputClosed{}, messages.TreeEnded{Survivors: survivors})
}
