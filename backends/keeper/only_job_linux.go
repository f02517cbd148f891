package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// aloneBound bounds how long the keeper of one job waits for its first client: its
// starter may have died.
const aloneBound = 2 * helloBound

// watchOnlyJob ends a keeper without a client after aloneBound. It returns a function
// for the keeper's end.
func (s *server) watchOnlyJob() func() {
	if !s.options.Alone {
		return func() {}
	}
	t := time.AfterFunc(aloneBound, func() {
		s.mu.Lock()
		s.hadClient = true
		s.mu.Unlock()
		s.maybeEnd()
	})
	return func() { t.Stop() }
}

// jobEnded handles the last fact of a job. It removes the log of a job that did not
// start.
func (s *server) jobEnded(id messages.UID) {
	s.mu.Lock()
	c := s.jobs[id]
	undo := c != nil && c.pidFile != "" && !c.started
	if c != nil {
		c.over = true
	}
	s.mu.Unlock()
	if undo {
		_ = s.store.Remove(string(id))
	}
	s.maybeEnd()
}

// maybeEnd ends the keeper of one job when that has ended and no client is connected.
// The journal has the end, and the next keeper of the directory reports it.
func (s *server) maybeEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.options.Alone || !s.hadClient || s.conn != nil || s.ending {
		return
	}
	for _, c := range s.jobs {
		if !c.over {
			return
		}
	}
	s.ending = true
	go s.end.Do(func() {
		s.engine.Close(false)
		close(s.ended)
	})
}

// removeDir removes the directory of a keeper that ends without a job: no client would
// ask for it.
func (s *server) removeDir() {
	if !s.options.Alone || s.lease == nil || s.journal == nil || len(s.journal.past().jobs) > 0 {
		return
	}
	if err := removeUnstarted(s.dir); err != nil {
		s.fault("", err)
	}
}

// forgetUnstarted removes the directory of a keeper that could not start, if its error
// was sent. Otherwise a file in the directory has the error.
func (c *Client) forgetUnstarted(why error) {
	seen, err := Inspect(c.options.Dir)
	if err != nil || seen.Known || errors.Is(why, errHungUp) || errors.Is(why, errNoHello) {
		return
	}
	dir, err := openDir(c.options.Dir, false)
	if err != nil {
		return
	}
	defer dir.Close()
	lease, err := takeLease(dir, leaseBound) // waits for a keeper that is about to end
	switch {
	case err == nil:
		defer lease.Close()
	case !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT): // without space there is no lock, and no keeper
		return
	}
	if seen, err = Inspect(c.options.Dir); err == nil && !seen.Known {
		c.fault(removeUnstarted(dir))
	}
}

// removeUnstarted removes the directory of a detached job, unless it was moved.
func removeUnstarted(dir *os.File) error {
	now, err := os.Lstat(dir.Name())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	was, serr := dir.Stat()
	if err = errors.Join(err, serr); err != nil || !os.SameFile(now, was) {
		return err
	}
	at, err := os.OpenRoot(filepath.Dir(dir.Name()))
	if err != nil {
		return err
	}
	defer at.Close()
	return at.RemoveAll(filepath.Base(dir.Name()))
}

// claimPaths reserves the paths of a job's log and pid file. It overwrites nothing.
func (s *server) claimPaths(spec *backends.Spec, c *servedJob) error {
	file := spec.Log.File
	if file == "" || !spec.Detach {
		return nil
	}
	if err := CheckLogPath(file); err != nil {
		return err
	}
	if err := s.noteFile(file); err != nil {
		return refused(messages.OutputUnavailable, "log", "cannot record the path of the log: "+err.Error(), "make sure that "+s.options.Dir+" can be written")
	}
	spec.Log.Mark = filepath.Join(s.options.Dir, markName)
	c.pidFile = PIDFilePath(file)
	return nil
}

// noteFile records the path of the log, for the next keeper and for cleanup.
func (s *server) noteFile(file string) error {
	f, err := openIn(s.dir, givenName, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteString(file)
	return errors.Join(err, f.Close())
}

// givenFile returns the path of the log of a directory's job; "": unknown.
func givenFile(dir *os.File) string {
	f, err := openIn(dir, givenName, unix.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, unix.PathMax))
	if err != nil || !filepath.IsAbs(string(text)) {
		return ""
	}
	return string(text)
}

// recoverLog takes over the log of a dead keeper. The journal has one job at most.
func (s *server) recoverLog() {
	file := givenFile(s.dir)
	if file == "" {
		return
	}
	for id := range s.journal.past().jobs {
		if err := s.store.Reclaim(string(id), uint8(messages.Merged), file, filepath.Join(s.options.Dir, markName)); err != nil {
			s.fault(id, fmt.Errorf("the log of the last keeper cannot be read: %w", err))
		}
	}
}

// writePidFile writes the file atomically. It leaves an existing file unchanged.
func writePidFile(path string, p PIDFile) error {
	fresh := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+string(p.Job))
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(p.String())
	if err = errors.Join(err, f.Close()); err == nil {
		err = unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // a file system without it
			err = unix.Link(fresh, path)
		}
	}
	_ = os.Remove(fresh)
	return err
}
