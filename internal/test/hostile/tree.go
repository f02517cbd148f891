package hostile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Kind is a way of resisting a stop.
type Kind string

// Kinds of processes. All but Plain, Session, Hydra, Stopped and Hopper ignore TERM,
// INT, HUP and QUIT.
const (
	Plain     Kind = "plain"     // dies of TERM
	Ignoring  Kind = "ignoring"  // dies of KILL only
	Session   Kind = "session"   // in a process session of its own
	Orphan    Kind = "orphan"    // double fork, each with a process session of its own
	Group     Kind = "group"     // in a process group of its own
	Daemon    Kind = "daemon"    // two forks away, in another directory, without descriptors
	Subreaper Kind = "subreaper" // adopts the orphans of its own tree
	Hydra     Kind = "hydra"     // starts another of its kind for each TERM
	Stopped   Kind = "stopped"   // stopped by SIGSTOP
	Hopper    Kind = "hopper"    // forks itself into a new process every few milliseconds
)

// Kinds returns all kinds, in the order of a tree's roots.
func Kinds() []Kind {
	return []Kind{Plain, Ignoring, Session, Orphan, Group, Daemon, Subreaper, Hydra, Stopped, Hopper}
}

// Tree is a hostile process tree.
type Tree struct {
	Roots int    // number of roots, which take the kinds in turn
	Kinds []Kind // nil: all
	Token string // part of the argv of each process, by which Alive finds it
	Leave bool   // the main process exits with LeaveCode when all run; else it stays
}

// LeaveCode is the exit status of a main process that leaves.
const LeaveCode = 3

// Ready is what the main process prints when the whole tree runs.
const Ready = "spawned\n"

// magic is the first argument of processes of a tree.
const magic = "troupe-hostile"

// Command returns the argv that starts the tree.
func (t Tree) Command() []string {
	self, err := os.Executable()
	if err != nil {
		self = "/proc/self/exe"
	}
	if t.Kinds == nil {
		t.Kinds = Kinds()
	}
	argv := []string{self, magic, t.token(), "root", strconv.Itoa(t.Roots), strconv.FormatBool(t.Leave)}
	for _, k := range t.Kinds {
		argv = append(argv, string(k))
	}
	return argv
}

func (t Tree) token() string { return "hostile=" + t.Token }

// Alive returns the living processes of the tree, without zombies.
func (t Tree) Alive() []int {
	return Find(func(pid int) bool {
		argv, err := os.ReadFile(procFile(pid, "cmdline"))
		return err == nil && slices.ContainsFunc(bytes.Split(argv, []byte{0}), func(word []byte) bool { return string(word) == t.token() })
	})
}

// Find returns the living processes of the machine that satisfy is; none without /proc.
func Find(is func(pid int) bool) []int {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(filepath.Base(e))
		if err == nil && pid != os.Getpid() && is(pid) && !zombie(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// zombie reports whether a process has ended, or is ending.
func zombie(pid int) bool {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return true
	}
	_, after, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return !ok || len(after) == 0 || after[0] == 'Z' || after[0] == 'X'
}

func procFile(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
