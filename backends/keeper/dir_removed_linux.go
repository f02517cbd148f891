package keeper

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// errPlaceGone refuses a job that could not be found again.
var errPlaceGone = refused(messages.Refused, "gone", "the directory of the keeper was removed: a new job could not be recorded or found again",
	"stop the daemon and its jobs with troupe shutdown --stop-jobs; the next daemon makes the directory again")

// dirRemoved reports whether the directory was removed with its contents, so that no
// client finds this keeper. A moved directory can come back, and a keeper that lost one
// file is still found.
func (s *server) dirRemoved() bool {
	var st unix.Stat_t
	for _, name := range []string{journalName, socketName, lockName} {
		err := withFd(s.dir, func(fd int) error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
		if !errors.Is(err, unix.ENOENT) {
			return false
		}
	}
	return s.unlinked()
}

// endIfUnreachable ends the jobs and the keeper if it has no client and cannot get one:
// no client could stop the jobs. A detached job ends without a client, and runs on.
func (s *server) endIfUnreachable() {
	s.mu.Lock()
	stays := s.options.Alone || s.conn != nil || s.ending
	s.mu.Unlock()
	if stays || !s.dirRemoved() {
		return
	}
	s.fault("", errPlaceGone)
	s.cancel()
}

// watchDir watches the directory for its removal and for calls of clients, and returns
// a function that ends this. Without a kernel watch a removal is noticed when the next
// client leaves.
func (s *server) watchDir(serving *sync.WaitGroup) func() {
	if s.options.Alone {
		return func() {}
	}
	path, err := inDir(s.dir, ".") // valid also after a move
	if err != nil {
		return func() {}
	}
	removed, err := watchPath(path, unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_CREATE)
	if err != nil {
		s.fault("", fmt.Errorf("a removal of %s would not be noticed: %w", s.options.Dir, err))
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watchRemovals(removed, serving)
	}()
	return func() {
		_ = removed.Close()
		<-ended
	}
}

// watchRemovals checks the directory after each removal of a name: names may go in any
// order.
func (s *server) watchRemovals(removed *os.File, serving *sync.WaitGroup) {
	events := make([]byte, 4096)
	for {
		s.endIfUnreachable() // also for removals before the watch
		s.recreateSocket(serving)
		if _, err := removed.Read(events); err != nil {
			return
		}
	}
}

// recreateSocket makes the socket again when a client that did not find it has called.
// It does not do so earlier: the socket may only be the first name that goes.
func (s *server) recreateSocket(serving *sync.WaitGroup) {
	err := withFd(s.dir, func(fd int) error { return unix.Unlinkat(fd, callName, 0) })
	if err != nil || s.unlinked() {
		return
	}
	fresh, err := listen(s.dir, socketName)
	if err != nil {
		s.fault("", fmt.Errorf("the socket was removed and cannot be made again: %w", err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		_ = fresh.Close()
		return
	}
	_ = s.listener.Close()
	s.listener = fresh
	serving.Go(func() { s.accept(fresh, serving) })
}

// unlinked reports whether the lease file was removed. After an error it returns false:
// a failing file system must not end jobs.
func (s *server) unlinked() bool {
	var st unix.Stat_t
	err := withFd(s.lease, func(fd int) error { return unix.Fstat(fd, &st) })
	return err == nil && st.Nlink == 0
}
