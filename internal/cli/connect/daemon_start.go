package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// endPatience is how long a daemon may take to end behind its last reply: what
// clients may take to read theirs, twice.
const endPatience = 2 * ReplyPatience

// startPatience is how long a daemon may take to become ready, and others to start
// it for us: its start takes a tenth of a second, with thousands of jobs one or two.
const startPatience = 10 * time.Second

// startDaemon starts the daemon and returns when it takes requests. Of several who
// want that at a time one does it, and the others find it running.
func startDaemon(m *cli.Main, at *config.Settings, s *terminal.Printer) (*client.Client, error) {
	if err := at.OwnState(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	done, err := turn(ctx, at)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := Dial(ctx, at.Socket)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, notReady("the daemon at "+at.Socket+" takes no requests", at)
	case !errors.Is(err, client.ErrNoDaemon):
		return nil, err
	}
	pid, err := launch(ctx, m, at)
	if errors.Is(err, stateHeld) {
		if c, none := findStarting(ctx, at); none == nil {
			return c, nil
		}
	}
	if err != nil {
		return nil, err
	}
	s.Notef("started the daemon, process %d at %s; troupe shutdown ends it", pid, at.Socket)
	return Dial(context.Background(), at.Socket)
}

// WayPatience is how long a daemon may take from its lock to its socket: that is
// next to nothing.
const WayPatience = 3 * time.Second

var stateHeld = &messages.Error{Code: messages.Conflict, Reason: "state"}

// findStarting finds a daemon that has the state directory, and is to listen yet: by
// hand, or by somebody who waits for it no longer, it was started before ours.
func findStarting(ctx context.Context, at *config.Settings) (*client.Client, error) {
	late := time.Now().Add(WayPatience)
	away := func(err error) bool { return errors.Is(err, client.ErrNoDaemon) && time.Now().Before(late) }
	return RetryBusy(ctx, away, func() (*client.Client, error) { return Dial(ctx, at.Socket) })
}

// turn waits for our turn to start the daemon. done ends it.
func turn(ctx context.Context, at *config.Settings) (done func(), err error) {
	lock := flock.New(filepath.Join(at.State, config.StartName), flock.SetPermissions(0o600))
	locked := make(chan error, 1)
	go func() { locked <- lock.Lock() }()
	select {
	case err := <-locked:
		if err != nil {
			return nil, fmt.Errorf("the start of a daemon cannot be locked: %w", err)
		}
		return func() { _ = lock.Close() }, nil
	case <-ctx.Done(): // the lock is left to the end of our process
		return nil, notReady("another troupe has been starting the daemon", at)
	}
}

// notReady is the error of a start that takes too long. A daemon that was started
// is left alone: it may have much to read, and holds no job itself.
func notReady(what string, at *config.Settings) *messages.Error {
	return &messages.Error{
		Code: messages.Busy, Reason: "daemon", Message: fmt.Sprintf("%s for %v", what, startPatience),
		Hint: "see " + filepath.Join(at.State, config.LogName) + ", then try again, or end that process",
	}
}

// launch starts troupe serve in a session of its own, with nothing of ours: no
// descriptor, no directory, and of the environment only what a daemon needs.
func launch(ctx context.Context, m *cli.Main, at *config.Settings) (int, error) {
	if err := setCloseOnExec(); err != nil {
		return 0, fmt.Errorf("the daemon would keep files of the caller open: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("the daemon's program cannot be found: %w", err)
	}
	logFile := filepath.Join(at.State, config.LogName)
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return 0, fmt.Errorf("the daemon has no log: %w", err)
	}
	defer log.Close()
	ready, told, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer ready.Close()
	cmd := exec.Command(self, "serve", "--socket", at.Socket, "--state", at.State, "--ready-fd", "3")
	cmd.Args[0] = "troupe"
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = "/", daemonEnv(m), log, log, []*os.File{told}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = told.Close()
	if err != nil {
		return 0, fmt.Errorf("the daemon cannot be started: %w", err)
	}
	if until, ok := ctx.Deadline(); ok {
		_ = ready.SetReadDeadline(until)
	}
	pid := cmd.Process.Pid
	err = Heard(ready, logFile)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, notReady(fmt.Sprintf("the daemon, process %d, has not been ready", pid), at)
	}
	if err != nil {
		_ = cmd.Wait()
		return 0, err
	}
	return pid, cmd.Process.Release()
}

// daemonEnv is the part of our environment that a daemon needs: no secret of the
// shell that happened to start it, which its jobs could see.
func daemonEnv(m *cli.Main) []string {
	var env []string
	for _, kv := range m.Env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "PATH", "HOME", "LANG", "SHELL", "USER", "LOGNAME", "TMPDIR", "TZ", config.FileVar:
			env = append(env, kv)
		default:
			if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
				env = append(env, kv)
			}
		}
	}
	return env
}

// ReplyPatience is how long clients may take to read their last replies.
const ReplyPatience = 5 * time.Second
