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

// endPatience bounds the exit of a daemon after its last reply: twice the time that
// clients get to read theirs.
const endPatience = 2 * ReplyPatience

// StartPatience bounds the start of a daemon, also by another process. A start takes
// 0.1 seconds, with thousands of jobs one or two.
const StartPatience = 10 * time.Second

// startDaemon starts the daemon and returns when it accepts requests. Of several
// processes that try at the same time one starts it, and the others find it running.
func startDaemon(m *cli.Main, at *config.Settings, need Need, s *terminal.Printer) (*client.Client, error) {
	if err := at.OwnState(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), StartPatience)
	defer cancel()
	done, err := turn(ctx, at)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := DialDaemon(ctx, at)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, notReady("the daemon at "+at.Socket+" did not accept requests", at)
	case !errors.Is(err, client.ErrNoDaemon):
		return nil, err
	}
	for {
		c, err := launchAndDial(ctx, m, at, need, s)
		if !errors.Is(err, client.ErrNoDaemon) || ctx.Err() != nil {
			return c, err
		} // it was idle, and ended, before it was found
	}
}

// launchAndDial starts a daemon and connects to it, or to the one that holds its place.
func launchAndDial(ctx context.Context, m *cli.Main, at *config.Settings, need Need, s *terminal.Printer) (*client.Client, error) {
	pid, err := launch(ctx, m, at)
	if errors.Is(err, stateHeld) {
		if c, none := findStarting(ctx, at); none == nil {
			return c, nil
		}
	}
	if err != nil {
		return nil, err
	}
	socket := at.Socket
	if !config.Exists(socket) || config.IsTaken(filepath.Dir(socket)) { // the default one could not be made
		socket = at.StateSocket()
	}
	if need == Required || s.Err.Terminal { // else it would be taken for output of the command
		s.Notef("started the daemon, process %d at %s; troupe shutdown stops it", pid, socket)
	}
	return DialDaemon(context.Background(), at)
}

// WayPatience bounds the time from the lock of a daemon to its socket, which is very
// short.
const WayPatience = 3 * time.Second

var stateHeld = &messages.Error{Code: messages.Conflict, Reason: "state"}

// findStarting finds a daemon that has locked the state directory and does not listen
// yet. A user, or another process that has given up, started it before ours.
func findStarting(ctx context.Context, at *config.Settings) (*client.Client, error) {
	late := time.Now().Add(WayPatience)
	away := func(err error) bool { return errors.Is(err, client.ErrNoDaemon) && time.Now().Before(late) }
	return RetryBusy(ctx, away, func() (*client.Client, error) { return DialDaemon(ctx, at) })
}

// turn waits for the lock to start the daemon. done releases it.
func turn(ctx context.Context, at *config.Settings) (done func(), err error) {
	lock := flock.New(filepath.Join(at.State, config.StartName), flock.SetPermissions(0o600))
	locked := make(chan error, 1)
	go func() { locked <- lock.Lock() }()
	select {
	case err := <-locked:
		if err != nil {
			return nil, fmt.Errorf("cannot lock the start of the daemon: %w", err)
		}
		return func() { _ = lock.Close() }, nil
	case <-ctx.Done(): // our exit releases the lock
		return nil, notReady("another troupe did not finish the start of the daemon", at)
	}
}

// notReady returns the error of a start that takes too long. The started daemon keeps
// running: it may have much to read, and has no job itself.
func notReady(what string, at *config.Settings) *messages.Error {
	return &messages.Error{
		Code: messages.Busy, Reason: "daemon", Message: fmt.Sprintf("%s within %v", what, StartPatience),
		Hint: "see " + filepath.Join(at.State, config.LogName) + "; retry, or kill that process",
	}
}

// launch starts troupe serve in a process session of its own, outside of our process tree. It
// inherits no descriptor and no directory, and of the environment only what a daemon needs.
func launch(ctx context.Context, m *cli.Main, at *config.Settings) (int, error) {
	if err := setCloseOnExec(); err != nil {
		return 0, fmt.Errorf("the daemon would inherit open files: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("cannot find the daemon's program: %w", err)
	}
	logFile := filepath.Join(at.State, config.LogName)
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return 0, fmt.Errorf("cannot open the daemon's log: %w", err)
	}
	defer log.Close()
	ready, reportPipe, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer ready.Close()
	cmd := exec.Command(self, "serve", "--socket", at.Socket, "--state", at.State, "--idle-exit", at.IdleExit.String(), "--ready-fd", "3", "--detach")
	cmd.Args[0] = "troupe"
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = "/", daemonEnv(m), log, log, []*os.File{reportPipe}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	err = neutralStart(cmd.Start)
	_ = reportPipe.Close()
	if err != nil {
		return 0, fmt.Errorf("cannot start the daemon: %w", err)
	}
	_ = cmd.Wait() // it has started the daemon by then, or its report says why not
	if until, ok := ctx.Deadline(); ok {
		_ = ready.SetReadDeadline(until)
	}
	pid, err := ReadReport(ready, logFile)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, notReady("the daemon was not ready", at)
	}
	return pid, err
}

// daemonEnv returns the part of our environment that a daemon needs. Secrets of the
// shell that starts it must not reach its jobs.
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

// ReplyPatience bounds how long clients may take to read their last replies.
const ReplyPatience = 5 * time.Second
