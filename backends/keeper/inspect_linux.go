package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// Inspect reads the directory of a keeper. For a detached job it describes that job. It
// asks no process, and changes nothing. With an error it may know whether a keeper runs.
func Inspect(path string) (s Inspection, err error) {
	dir, err := openDir(path, false)
	if err != nil {
		return s, err
	}
	defer dir.Close()
	if s.Kept, err = isKept(dir); err != nil {
		return s, err
	}
	s.File = givenFile(dir)
	if info, err := dir.Stat(); err == nil {
		s.Changed = info.ModTime()
	}
	entries, _, err := readJournal(dir)
	if err != nil {
		return s, err
	}
	for _, e := range entries {
		if e.At.After(s.Changed) {
			s.Changed = e.At
		}
		if e.PID > 0 && e.StartTime > 0 {
			s.PID, s.StartTime = e.PID, e.StartTime
		}
		if e.Kind == entryOpened && s.PID == 0 {
			s.BootID = e.BootID // of the keeper that started the job
		}
	}
	for _, p := range tableOf(entries).jobs {
		s.Known, s.Over, s.Collected = true, p.over(), p.collected
		s.Live = s.Live || s.Kept && !s.Over
	}
	return s, nil
}

// Running returns the jobs that run in the keeper of a directory, and the number of its live
// shells. It asks no process: without a keeper nothing runs.
func Running(path string) (jobs []messages.UID, shells int) {
	dir, err := openDir(path, false)
	if err != nil {
		return nil, 0
	}
	defer dir.Close()
	if kept, err := isKept(dir); err != nil || !kept {
		return nil, 0
	}
	entries, _, err := readJournal(dir)
	if err != nil {
		return nil, 0
	}
	for id, p := range tableOf(entries).jobs {
		if p.over() {
			continue
		}
		if _, _, shell := backends.ReadShellMeta(p.meta); shell {
			shells++
		} else {
			jobs = append(jobs, id)
		}
	}
	return jobs, shells
}

// Damage says what is wrong with the journal of a keeper's directory: damaged records, or
// another format; "": nothing. It asks no process.
func Damage(path string) string {
	dir, err := openDir(path, false)
	if err != nil {
		return ""
	}
	defer dir.Close()
	_, damaged, err := readJournal(dir)
	switch {
	case errors.Is(err, errOtherJournal):
		return err.Error()
	case len(damaged) > 0:
		return path + ": " + damageText(damaged) + "; check the disk"
	}
	return ""
}

// readJournal returns the entries of the journal of a directory, which a keeper may be
// writing, and its damaged ranges. The journal of another version is errOtherJournal.
func readJournal(dir *os.File) ([]entry, []spill.Gap, error) {
	text, err := readIn(dir, journalName)
	if err != nil {
		return nil, nil, err
	}
	entries, _, damaged, err := readRecords(text)
	if err != nil {
		return nil, nil, otherJournal(dir)
	}
	return entries, damaged, nil
}

// isKept reports whether a keeper holds the lease.
func isKept(dir *os.File) (bool, error) {
	f, err := openIn(dir, lockName, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = withFd(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// readIn reads a file of a directory; a missing one is empty.
func readIn(dir *os.File, name string) ([]byte, error) {
	f, err := openIn(dir, name, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f) // to its present end: a starting keeper truncates a torn record
}

// ListDetached returns the detached jobs with a directory in root.
func ListDetached(root string) []messages.UID {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var all []messages.UID
	for _, e := range entries {
		if id := messages.UID(e.Name()); e.IsDir() && validUID(id) {
			all = append(all, id)
		}
	}
	return all
}

// RemoveDetached removes the files of an ended detached job: its keeper's directory,
// with the log if that is in it, and its pid file. It returns os.ErrNotExist if there
// is none, and an error if the job runs.
func RemoveDetached(root string, id messages.UID) error {
	seen, err := Inspect(filepath.Join(root, string(id)))
	if err != nil {
		if _, gone := os.Lstat(filepath.Join(root, string(id))); errors.Is(gone, os.ErrNotExist) {
			return os.ErrNotExist
		}
		return err
	}
	if seen.Known && !seen.Over && !seen.Collected {
		return refused(messages.Busy, "keeper", "the detached job "+string(id)+" has not ended, or its end was not received", "stop it first")
	}
	dir, err := openDir(filepath.Join(root, string(id)), false)
	if err != nil {
		return err
	}
	defer dir.Close()
	lease, err := takeLease(dir, leaseBound) // waits for its keeper to end, and keeps others from starting
	if err != nil {
		return err
	}
	defer lease.Close()
	if seen.File != "" {
		if p, err := ReadPIDFile(PIDFilePath(seen.File)); err == nil && p.Job == id {
			_ = os.Remove(PIDFilePath(seen.File))
		}
	}
	at, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer at.Close()
	return at.RemoveAll(string(id))
}

// Sweep removes detached jobs that ended longer than age ago, and frees disk space that
// journals of killed keepers have reserved.
func Sweep(root string, age time.Duration) {
	for _, id := range ListDetached(root) {
		seen, err := Inspect(filepath.Join(root, string(id)))
		if err == nil && !seen.Kept && (seen.Over || seen.Collected || !seen.Known) && time.Since(seen.Changed) > age {
			_ = RemoveDetached(root, id)
			continue
		}
		if err == nil && !seen.Kept {
			freeJournal(filepath.Join(root, string(id)))
		}
	}
}

// freeJournal frees the space that a dead keeper's journal has reserved, unless a
// keeper has started. It ignores errors, since it is called again.
func freeJournal(path string) {
	dir, err := openDir(path, false)
	if err != nil {
		return
	}
	defer dir.Close()
	lease, err := openIn(dir, lockName, unix.O_RDWR)
	if err != nil {
		return
	}
	defer lease.Close()
	if withFd(lease, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }) != nil {
		return
	}
	f, err := openIn(dir, journalName, unix.O_RDWR)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && reserved(info) {
		_ = giveBack(f, info.Size())
	}
}

// reserved reports whether a file has more space on disk than its data takes.
func reserved(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Blocks*512 > info.Size()+onlyJobLow
}

// takeTurn waits until a guest is the only one of its job.
func (f *Fleet) takeTurn(ctx context.Context) error {
	if !f.options.Guest {
		return nil
	}
	dir, err := openDir(f.dir(f.options.Only), false)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := openIn(dir, guestName, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return err
	}
	if f.options.Urgent {
		_ = withFd(lock, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
		f.turn = lock
		return nil
	}
	got := make(chan error, 1)
	go func() {
		got <- withFd(lock, func(fd int) error { return flockWhole(fd, unix.LOCK_EX) })
	}()
	select {
	case err = <-got:
	case <-ctx.Done(): // the descriptor stays with the wait, until the process ends
		return fmt.Errorf("another client asks the keeper of the detached job: %w", ctx.Err())
	}
	f.turn = lock
	return err
}

// Holder returns the process id of the keeper of a directory. 0: there is none, or /proc/locks does
// not show it.
func Holder(dir string) int {
	var st unix.Stat_t
	if unix.Lstat(filepath.Join(dir, lockName), &st) != nil {
		return 0
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	locks, _ := os.ReadFile("/proc/locks")
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
		if f := strings.Fields(line); len(f) > 5 && f[1] == "FLOCK" && f[5] == file {
			pid, _ := strconv.Atoi(f[4])
			return pid
		}
	}
	return 0
}
