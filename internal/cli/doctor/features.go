package doctor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"troupe/backends/engine"
	"troupe/internal/cli/out"
	"troupe/internal/signals"
	"troupe/spill"
)

// features lists what the engine found, with the fallback for each missing feature.
func features(f engine.Features) []feature {
	list := []feature{
		{"cgroup v2, writable", f.Cgroup != "", cgroupDetail(f), "processes of a command are found by their parents in /proc"},
		{"cgroup.kill", f.CgroupKill, "", "processes are killed one by one, in rounds"},
		{"cgroup memory events", f.Memory, memoryDetail(f), "a command killed for lack of memory is reported as ended by signal KILL"},
		{"subreaper", f.Subreaper, f.NoSubreaper, "without a cgroup, orphans of a command escape"},
		{"processes of this namespace in /proc", f.NoProcesses == "", f.NoProcesses, "without a cgroup, only process groups are stopped; processes that left them are not found"},
		{"pidfd", f.Pidfd, "", "signals use process ids, only for children not yet reaped"},
		{"pidfd signals groups", f.GroupSignal, "", "signals use the group id, only while the leader is a child not yet reaped"},
		{"lists of children in /proc", f.Children, "", "children are found by reading all of /proc"},
		{"inotify", f.Inotify, "", "troupe polls whether a cgroup is empty"},
		{"detection of reads in /proc", f.Reads != "", f.Reads, "troupe wait --input is not supported"},
		{"large pipes", f.LargePipes, "", "output is copied in smaller pieces"},
		{"terminals", f.Terminals, cmp.Or(f.NoTerminal, devpts()), "commands on a terminal (--pty) cannot start"},
		{"splice from terminals", f.Spliced, "", "terminal output is copied through memory: a crash of the keeper can lose a few KiB"},
		{"senders of signals", signals.Supported, "", "the keeper obeys the signals of jobs: a command that kills its parent process ends all jobs"},
		{"umask for each command", f.Umask, "", "commands run with the umask of troupe"},
	}
	for i := range list {
		if list[i].Found {
			list[i].Instead = ""
		}
	}
	if len(f.Swept) > 0 {
		list = append(list, feature{
			Name: "leftovers of dead nodes", Found: true,
			Detail: fmt.Sprintf("killed the jobs of %s: %s", out.Plural(len(f.Swept), "dead node"), strings.Join(f.Swept, ", ")),
		})
	}
	return list
}

// devpts describes the devpts mount at /dev/pts with its options; "" if there is none.
func devpts() string {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 3 && f[2] == "devpts" && f[1] == "/dev/pts" {
			return "devpts on " + f[1] + " (" + f[3] + ")"
		}
	}
	return ""
}

// memory tests whether a small output can stay in memory.
func memory(store *spill.Disk) feature {
	f := feature{Name: "output in memory (memfd)", Instead: "each output is stored in a file from its first byte"}
	w, err := store.Create("doctor", spill.Merged, spill.Plan{Group: "doctor"})
	if err == nil {
		_, err = w.Append([]byte("x"))
		f.Found = err == nil && w.State().File == ""
		_ = w.Seal()
		_ = store.Remove("doctor")
	}
	if err != nil {
		f.Detail = err.Error()
	}
	if f.Found {
		f.Instead = ""
	}
	return f
}

// memoryDetail says what counts as an OOM kill of a job.
func memoryDetail(f engine.Features) string {
	if !f.AllMemory {
		return ""
	}
	return "counted for all jobs together: a kill that nothing else explains is taken for one"
}

// cgroupDetail returns the parent of the commands' cgroups, or why there is none.
func cgroupDetail(f engine.Features) string {
	if f.Cgroup == "" {
		return f.NoCgroup
	}
	return filepath.Dir(f.Cgroup)
}
