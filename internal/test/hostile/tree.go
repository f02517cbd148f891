// Package hostile builds process trees that resist a stop: their processes ignore signals,
// leave their group and fork while they are killed. A test binary plays them itself, so
// that no compiler is needed: its TestMain begins with
//
//	if code, ours := hostile.Main(os.Args[1:]); ours {
//		os.Exit(code)
//	}
//
// Everything is bounded: a tree of n roots never has more than about 5n
// processes, and each of them ends by itself within an hour.
package hostile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Kind is a way of not ending.
type Kind string

// The kinds. All but Plain, Session, Hydra, Stopped and Hopper ignore TERM,
// INT, HUP and QUIT.
const (
	Plain     Kind = "plain"     // dies of TERM
	Ignoring  Kind = "ignoring"  // of KILL only
	Session   Kind = "session"   // in a session of its own
	Orphan    Kind = "orphan"    // double fork, each with a session of its own
	Group     Kind = "group"     // in a process group of its own
	Daemon    Kind = "daemon"    // two forks away, in another directory, without descriptors
	Subreaper Kind = "subreaper" // an adopter of its own orphans
	Hydra     Kind = "hydra"     // starts another of its kind when it is asked to end
	Stopped   Kind = "stopped"   // stopped by SIGSTOP
	Hopper    Kind = "hopper"    // goes from process to process, every few milliseconds
)

// Kinds are all of them, in the order in which a tree has them.
func Kinds() []Kind {
	return []Kind{Plain, Ignoring, Session, Orphan, Group, Daemon, Subreaper, Hydra, Stopped, Hopper}
}

// Tree is a hostile process tree.
type Tree struct {
	Roots int    // how many of Kinds, one after the other
	Kinds []Kind // nil: all
	Token string // stands in the argv of each process: Alive finds them by it
	Leave bool   // the main process exits with LeaveCode when all stand; else it stays
}

// LeaveCode is the exit status of a main process that leaves.
const LeaveCode = 3

// Ready is what the main process writes when the whole tree stands.
const Ready = "spawned\n"

// magic is the first word of those who are ours.
const magic = "troupe-hostile"

// Command is the argv that plays the tree.
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

// Alive are the processes of the tree that are alive, wherever they went;
// zombies are not.
func (t Tree) Alive() []int {
	return Find(func(pid int) bool {
		argv, err := os.ReadFile(procFile(pid, "cmdline"))
		return err == nil && slices.ContainsFunc(bytes.Split(argv, []byte{0}), func(word []byte) bool { return string(word) == t.token() })
	})
}

// Find gives the processes of the machine that are alive and of which is is
// true; none where there is no /proc.
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
