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

// LockPatience is how long the lock may be held by nobody who lives: a child that a
// daemon was forking when it was killed has it until its exec.
const LockPatience = time.Second

// HeldByAnother says which daemon holds a state directory whose socket nobody answers at: it was
// removed, or is another. One that begins or ends is given the time in which that is over.
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

// HeldBy is the error of a state directory that another daemon holds. Its process is named:
// one whose socket was removed hears of no other way to end it.
func HeldBy(state, lock string) error {
	err := &messages.Error{
		Code: messages.Conflict, Reason: "state", Message: "another daemon holds the state directory " + state,
		Hint: "use it, end it with troupe shutdown, or name another directory with --state",
	}
	text, rerr := os.ReadFile(lock)
	if pid, perr := strconv.Atoi(strings.TrimSpace(string(text))); rerr == nil && perr == nil && pid > 1 {
		err.Message = fmt.Sprintf("another daemon, process %d, holds the state directory %s", pid, state)
		err.Hint = fmt.Sprintf("use it, end it with troupe shutdown or, if its socket is gone, with kill %d, or name another directory with --state", pid)
	}
	return err
}
