package keeper

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// errPlaceGone refuses what would be started where nobody can find it again.
var errPlaceGone = refused(messages.Refused, "gone", "the directory of the keeper was removed: what is started now could not be recorded, or found again",
	"end the daemon and its jobs with troupe shutdown --stop-jobs: the next one makes its directory anew")

// dirRemoved reports whether nothing leads to this keeper any more, since its directory
// was removed with all that was in it. One that was moved can come back, and one that
// has lost a file is found by the others: neither is gone.
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

// endIfUnreachable ends the jobs, and the keeper, when it has no client and none can
// come: they would live on for ever, and no one could stop them. A detached job has its
// end without a client, and is left to it.
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

// watchDir sees to it that a keeper that nobody is connected to notices when its
// directory is removed, and any when it is called. The function that it returns is called
// when the keeper ends. Where the kernel has no watch to give, a removal is noticed when
// the next client leaves.
func (s *server) watchDir(serving *sync.WaitGroup) func() {
	if s.options.Alone {
		return func() {}
	}
	path, err := inDir(s.dir, ".") // this one, wherever it was moved
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

// watchRemovals looks behind each name that has gone: the last one may go before the
// directory, or long after others.
func (s *server) watchRemovals(removed *os.File, serving *sync.WaitGroup) {
	events := make([]byte, 4096)
	for {
		s.endIfUnreachable() // also for what went before there was a watch
		s.recreateSocket(serving)
		if _, err := removed.Read(events); err != nil {
			return
		}
	}
}

// recreateSocket makes the socket anew when a client that found none has called: it may have
// been removed alone. It is not made sooner, where it may just be the first to go of all.
func (s *server) recreateSocket(serving *sync.WaitGroup) {
	err := withFd(s.dir, func(fd int) error { return unix.Unlinkat(fd, callName, 0) })
	if err != nil || s.unlinked() {
		return
	}
	fresh, err := listen(s.dir, socketName)
	if err != nil {
		s.fault("", fmt.Errorf("its socket has gone, and no other can be made: %w", err))
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

// unlinked reports whether the lease was removed, as with all of the directory. What
// cannot be looked at is there: a file system that fails must not end jobs.
func (s *server) unlinked() bool {
	var st unix.Stat_t
	err := withFd(s.lease, func(fd int) error { return unix.Fstat(fd, &st) })
	return err == nil && st.Nlink == 0
}
