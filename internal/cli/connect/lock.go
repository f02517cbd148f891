package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"troupe/internal/cli/config"
	"troupe/messages"
)

// LockPatience bounds how long a dead daemon's lock can remain. A child that the daemon
// was forking when it was killed holds the lock until its exec.
const LockPatience = time.Second

// HeldByAnother returns an error if a daemon holds the state directory, although none
// answers at the socket: it was removed, or differs. A daemon that starts or ends gets
// LockPatience.
func HeldByAnother(ctx context.Context, state string) error {
	path := filepath.Join(state, config.LockName)
	if state == "" || !config.Exists(path) {
		return nil
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ctx, cancel := context.WithTimeout(ctx, LockPatience)
	defer cancel()
	ok, err := lock.TryRLockContext(ctx, LockPatience/20)
	if !ok && errors.Is(err, context.DeadlineExceeded) {
		return HeldBy(state, path)
	}
	_ = lock.Close()
	return nil
}

// HeldBy returns the error for a state directory that another daemon holds. It names
// the process, since a signal is the only way to stop a daemon without its socket.
func HeldBy(state, lock string) error {
	err := &messages.Error{
		Code: messages.Conflict, Reason: "state", Message: "another daemon has locked the state directory " + state,
		Hint: "use it, stop it with troupe shutdown, or choose another directory with --state",
	}
	text, rerr := os.ReadFile(lock)
	if pid, perr := strconv.Atoi(strings.TrimSpace(string(text))); rerr == nil && perr == nil && pid > 1 {
		err.Message = fmt.Sprintf("another daemon, process %d, has locked the state directory %s", pid, state)
		err.Hint = fmt.Sprintf("use it, stop it with troupe shutdown, or with kill %d if its socket is gone, or choose another directory with --state", pid)
	}
	return err
}

// idleMark replaces the process id in the lock file of a daemon that ends because it holds nothing.
const idleMark = "idle\n"

// LeaveIdle notes that the daemon, which has the lock, ends because it holds nothing: the next
// verb starts the next daemon.
func LeaveIdle(state string) error {
	return os.WriteFile(filepath.Join(state, config.LockName), []byte(idleMark), 0o600)
}

// leftIdle reports whether the last daemon ended so.
func leftIdle(state string) bool {
	text, err := os.ReadFile(filepath.Join(state, config.LockName))
	return err == nil && string(text) == idleMark
}
