package keeper

import (
	"errors"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// errPlaceGone refuses what would be started where nobody can find it again.
var errPlaceGone = refused(messages.Refused, "gone", "the directory of the keeper was removed: what is started now could not be recorded, or found again",
	"end the daemon and its jobs with troupe shutdown --stop-jobs: the next one makes its directory anew")

// placeGone reports whether nothing leads to this keeper any more, since its directory
// was removed with all that was in it. One that was moved can come back, and one that
// has lost a file is found by the others: neither is gone.
func (s *server) placeGone() bool {
	var st unix.Stat_t
	for _, name := range []string{journalName, socketName, lockName} {
		err := withFd(s.dir, func(fd int) error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
		if !errors.Is(err, unix.ENOENT) {
			return false
		}
	}
	err := withFd(s.lease, func(fd int) error { return unix.Fstat(fd, &st) })
	return err == nil && st.Nlink == 0
}

// maybeGiveUp ends the jobs, and the keeper, when its client has gone and no other can
// come: they would live on for ever, and no one could stop them. A detached job has its
// end without a client, and is left to it.
func (s *server) maybeGiveUp() {
	s.mu.Lock()
	stays := s.o.Alone || !s.came || s.conn != nil || s.ending
	s.mu.Unlock()
	if stays || !s.placeGone() {
		return
	}
	s.fault("", errPlaceGone)
	s.giveUp()
}
