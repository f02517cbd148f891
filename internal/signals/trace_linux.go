//go:build amd64 || arm64

package signals

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Codes of signals that a process sends. The kernel fills in the sender of these two
// only; sigqueue(3) and fcntl(2) can name any.
const (
	siUser  = 0  // kill
	siTkill = -6 // tgkill
)

const (
	maxDepth = 256 // ancestors that trace follows
	maxTries = 4   // of a trace during which an ancestor ended
)

// trace finds out what sent a signal. A process below a keeper belongs to a job, and its
// signal is refused. So is that of a process that has ended.
func (g *Guard) trace(sig syscall.Signal, code int32, pid int) Sender {
	s := Sender{Signal: sig}
	if code != siUser && code != siTkill {
		s.Refused = "the sender cannot be known"
		return s
	}
	s.PID = pid
	if pid <= 1 {
		return s
	}
	for range maxTries {
		p, ok := stat(pid)
		if !ok {
			s.Refused = "the sender has ended and cannot be checked"
			return s
		}
		if s.Command == "" {
			s.Command = cmp.Or(commandLine(pid), p.name)
		}
		if g.follow(&s, p) {
			return s
		}
	}
	s.Refused = "the parents of the sender cannot be read"
	return s
}

// follow goes from a sender to its ancestors, and sets Refused if one of them is a
// keeper. It returns false if one ended meanwhile.
func (g *Guard) follow(s *Sender, p process) (done bool) {
	for range maxDepth {
		if s.UID == "" {
			in := jobOf(p.pid)
			s.Job, s.UID = in.id, in.UID
		}
		if p.pid == g.self {
			s.Refused = "the sender belongs to a job of this process"
			return true
		}
		if dir := keeperDir(p.pid); dir != "" && (within(g.root, dir) || !g.descends(p.pid)) {
			s.Refused = fmt.Sprintf("the sender belongs to a job of keeper %d", p.pid)
			return true
		}
		if p.ppid <= 1 {
			return true
		}
		parent, ok := stat(p.ppid)
		if !ok || parent.start > p.start { // it ended, and its number may be in use again
			return false
		}
		p = parent
	}
	return false
}

// descends reports whether a process is an ancestor of this one.
func (g *Guard) descends(ancestor int) bool {
	for pid, n := g.self, 0; pid > 1 && n < maxDepth; n++ {
		p, ok := stat(pid)
		if !ok {
			return false
		}
		if pid = p.ppid; pid == ancestor {
			return true
		}
	}
	return false
}

// process is what /proc/PID/stat shows.
type process struct {
	pid, ppid int
	name      string
	start     uint64 // clock ticks since boot
}

// stat reads one process; false: there is none.
func stat(pid int) (process, bool) {
	text, err := os.ReadFile(file(pid, "stat"))
	if err != nil {
		return process{}, false
	}
	return parseStat(pid, text)
}

// parseStat parses the text of /proc/PID/stat. A process that was reaped during the read
// has the process group -1, and 0 in place of its parent.
func parseStat(pid int, text []byte) (process, bool) {
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return process{}, false
	}
	f := bytes.Fields(text[shut+1:])
	if len(f) < 20 || string(f[2]) == "-1" {
		return process{}, false
	}
	ppid, err := strconv.Atoi(string(f[1]))
	start, serr := strconv.ParseUint(string(f[19]), 10, 64)
	return process{pid: pid, ppid: ppid, name: string(text[open+1 : shut]), start: start}, err == nil && serr == nil
}

func file(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// list returns the strings of a file of /proc that are separated by NUL.
func list(pid int, name string) []string {
	f, err := os.Open(file(pid, name))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

const (
	maxText    = 256 << 10 // bytes that are read of an environment or arguments
	maxCommand = 120       // bytes of a command line in a report
)

// commandLine returns the start of a process's command line.
func commandLine(pid int) string {
	text := strings.ToValidUTF8(strings.Join(list(pid, "cmdline"), " "), "?")
	if len(text) > maxCommand {
		text = strings.ToValidUTF8(text[:maxCommand], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}

// jobOf returns the job that the environment of a process names.
func jobOf(pid int) (in JobEnv) {
	for _, kv := range list(pid, "environ") {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "TROUPE_JOB_ID":
			in.id = value
		case "TROUPE_SCOPE":
			in.Scope = value
		case "TROUPE_TREE": // node:job:job…
			in.UID = value[strings.LastIndexByte(value, ':')+1:]
		}
	}
	return in
}

// keeperDir returns the directory of a process that runs as a keeper; "": another
// process. A process that only pretends to be one loses the right to send signals.
func keeperDir(pid int) string {
	argv := list(pid, "cmdline")
	for i := range max(len(argv)-3, 0) {
		if argv[i] == "--dir" && argv[i+2] == "--fd" {
			return argv[i+1]
		}
	}
	return ""
}

// within reports whether dir is below root.
func within(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
