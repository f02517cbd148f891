package keeper

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// PIDFile identifies the process of a detached job. Its first line is the pid; the rest
// excludes another process with that number.
type PIDFile struct {
	PID       int
	StartTime uint64 // clock ticks since boot
	BootID    string // of the machine's boot
	Job       messages.UID
	Dir       string // of the job's keeper
}

// PIDFilePath returns the pid file that belongs to a log.
func PIDFilePath(log string) string { return strings.TrimSuffix(log, ".log") + ".pid" }

// CheckLogPath reports why a path cannot be a detached job's log: for example, it or
// its pid file exists. Links are not followed.
func CheckLogPath(log string) *messages.Error {
	if !filepath.IsAbs(log) || filepath.Clean(log) != log || strings.ContainsRune(log, 0) || len(log) >= maxPath {
		return messages.Invalid("log", fmt.Sprintf("%q cannot be the log: it must be an absolute path of a file", log))
	}
	for _, path := range []string{log, PIDFilePath(log)} {
		switch _, err := os.Lstat(path); {
		case err == nil:
			return refused(messages.InvalidParams, "log", path+" exists already and is not overwritten", "name another file for the log, or remove this one")
		case !errors.Is(err, fs.ErrNotExist):
			return refused(messages.InvalidParams, "log", "the log cannot be made: "+err.Error(), "name a file in a directory of yours")
		}
	}
	if info, err := os.Stat(filepath.Dir(log)); err != nil || !info.IsDir() {
		return refused(messages.InvalidParams, "log", "the log cannot be made: there is no directory "+filepath.Dir(log), "make it, or name another file")
	}
	return nil
}

// maxPath is the kernel's limit of a path.
const maxPath = 4096

// String returns the content of the file.
func (p PIDFile) String() string {
	return fmt.Sprintf("%d\nstart %d\nboot %s\njob %s\nkeeper %s\n", p.PID, p.StartTime, p.BootID, p.Job, strconv.Quote(p.Dir))
}

// ReadPIDFile reads the pid file of a detached job. It refuses a file that other users
// can write or own, or that is not a plain file.
func ReadPIDFile(path string) (p PIDFile, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return p, refused(messages.NotFound, "pid_file", "the pid file cannot be read: "+err.Error(), "name the .pid file beside the log of a detached job")
	}
	defer f.Close()
	var st unix.Stat_t
	if err := statFile(f, &st); err != nil {
		return p, err
	}
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return p, refused(messages.Refused, "pid_file", path+" cannot be trusted: it is not a plain file of this user alone (mode 0600)", "name the file that troupe wrote")
	}
	lines := bufio.NewScanner(io.LimitReader(f, 2*maxPath))
	for n := 0; lines.Scan(); n++ {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch {
		case n == 0:
			p.PID, err = strconv.Atoi(lines.Text())
		case name == "start":
			p.StartTime, err = strconv.ParseUint(value, 10, 64)
		case name == "boot":
			p.BootID = value
		case name == "job":
			p.Job = messages.UID(value)
		case name == "keeper":
			p.Dir, err = strconv.Unquote(value)
		}
		if err != nil {
			break
		}
	}
	if err != nil || lines.Err() != nil || p.PID <= 1 || p.StartTime == 0 || p.BootID == "" || p.Job == "" || !filepath.IsAbs(p.Dir) {
		return p, refused(messages.InvalidParams, "pid_file", path+" is not a pid file of a detached job", "name the .pid file beside the log of one")
	}
	return p, nil
}

// Inspection describes a detached job, or a keeper of many, from its files.
type Inspection struct {
	Kept      bool // its keeper runs
	Live      bool // its keeper and a job run
	Known     bool // the journal has the job
	Over      bool // the journal has its end, or a later keeper, which reports it as lost
	Collected bool // the journal has it as settled
	PID       int
	StartTime uint64
	BootID    string // of the boot in which its last keeper started
	File      string // its log; "": unknown
	Changed   time.Time
}

func statFile(f *os.File, st *unix.Stat_t) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Fstat(int(fd), st) }); err != nil {
		return err
	}
	return failed
}
