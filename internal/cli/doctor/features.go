package doctor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"troupe/backends/engine"
	"troupe/spill"
)

// features lists what the engine found, with the fallback for each missing feature.
func features(f engine.Features) []feature {
	list := []feature{
		{"cgroup v2, writable", f.Cgroup != "", cgroupDetail(f), "processes are found by descent"},
		{"cgroup.kill", f.CgroupKill, "", "processes are ended one by one, in rounds"},
		{"cgroup memory events", f.Memory, "", "the end of a command for want of memory is told as signal KILL"},
		{"subreaper", f.Subreaper, f.NoSubreaper, "orphans of a command escape when there is no cgroup"},
		{"processes of this namespace in /proc", f.NoProcesses == "", f.NoProcesses, "without a cgroup only process groups are ended, and what has left them is not seen"},
		{"pidfd", f.Pidfd, "", "signals go by process id, while the process is ours"},
		{"pidfd signals groups", f.GroupSignal, "", "signals go to the group by its id, while its leader is ours"},
		{"names of children in /proc", f.Children, "", "descent is found by reading all of /proc"},
		{"inotify", f.Inotify, "", "an emptied cgroup is noticed by looking"},
		{"reads of processes in /proc", f.Reads != "", f.Reads, "troupe wait --input is refused"},
		{"large pipes", f.LargePipes, "", "output moves in smaller steps"},
		{"terminals", f.Terminals, cmp.Or(f.NoTerminal, devpts()), "a command on a terminal of its own does not start"},
		{"splice from terminals", f.Spliced, "", "their output passes through memory, where the death of the keeper may cost a few KiB"},
		{"umask for each command", f.Umask, "", "commands have the umask of troupe"},
	}
	for i := range list {
		if list[i].Found {
			list[i].Instead = ""
		}
	}
	if len(f.Swept) > 0 {
		list = append(list, feature{
			Name: "remains of dead nodes", Found: true,
			Detail: fmt.Sprintf("ended what %d left: %s", len(f.Swept), strings.Join(f.Swept, ", ")),
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
	f := feature{Name: "output in memory (memfd)", Instead: "each output is a file from its first byte"}
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

// cgroupDetail returns the parent of the commands' cgroups, or why there is none.
func cgroupDetail(f engine.Features) string {
	if f.Cgroup == "" {
		return f.NoCgroup
	}
	return filepath.Dir(f.Cgroup)
}
