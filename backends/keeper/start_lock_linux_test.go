package keeper_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
)

// awaitsLock reports whether somebody waits for the lock of a file or directory.
func awaitsLock(t *testing.T, path string) bool {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return false
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) { // 1: -> FLOCK  ADVISORY  WRITE 9 fe:00:1234 0 EOF
		if strings.Contains(line, "-> FLOCK") && strings.Contains(line, ":"+strconv.FormatUint(st.Ino, 10)+" ") {
			return true
		}
	}
	return false
}

// A daemon that begins while somebody starts a detached job without one waits, and has
// the job then: it took the keeper away before that had the job, or never heard of it.
func TestADaemonThatBeginsWaitsForWhoStartsAJob(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "detached")
	starter := openFleet(t, root, func(o *keeper.FleetOptions) { o.Fresh = true })
	type opened struct {
		f   *keeper.Fleet
		err error
	}
	daemon := make(chan opened, 1)
	go func() {
		f, err := keeper.OpenFleet(context.Background(), keeper.FleetOptions{Root: root, Build: "test", Program: []string{self(t), roleArg}})
		daemon <- opened{f, err}
	}()
	until(t, "a daemon that waits", func() bool { return awaitsLock(t, root) })
	e := newEar(t)
	id := newUID()
	starter.Start(shell(id, "exec sleep 600", func(s *backends.Spec) { s.Detach = true }), e.facts)
	await[messages.ProcessStarted](e, 1)
	starter.Close(true)
	d := <-daemon
	if d.err != nil {
		t.Fatal(d.err)
	}
	defer d.f.Close(false)
	held, err := d.f.Inventory(t.Context())
	if err != nil || len(held) != 1 || held[0].ID != id || !held[0].Live {
		t.Errorf("the daemon has %+v: %v", held, err)
	}
}
