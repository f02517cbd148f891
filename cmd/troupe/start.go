package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"troupe/gateways/http/client"
)

// endPatience is how long a daemon may take to end behind its last reply: what
// clients may take to read theirs, twice.
const endPatience = 2 * replyPatience

// start starts the daemon and returns when it takes requests. Of several who
// want that at a time one does it, and the others find it running.
func (m *Main) start(at *settings, s *screen) (*client.Client, error) {
	if err := at.ownState(); err != nil {
		return nil, err
	}
	turn := flock.New(filepath.Join(at.State, startName), flock.SetPermissions(0o600))
	if err := turn.Lock(); err != nil {
		return nil, fmt.Errorf("the start of a daemon cannot be locked: %w", err)
	}
	defer turn.Close()
	c, err := connect(context.Background(), at.Socket)
	if !errors.Is(err, client.ErrNoDaemon) {
		return c, err
	}
	pid, err := m.launch(at)
	if err != nil {
		return nil, err
	}
	s.say("started the daemon, process %d at %s; troupe shutdown ends it", pid, at.Socket)
	return connect(context.Background(), at.Socket)
}

// launch starts troupe serve in a session of its own, with nothing of ours: no
// descriptor, no directory, and of the environment only what a daemon needs.
func (m *Main) launch(at *settings) (int, error) {
	if err := keepOurs(); err != nil {
		return 0, fmt.Errorf("the daemon would keep files of the caller open: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("the daemon's program cannot be found: %w", err)
	}
	logFile := filepath.Join(at.State, logName)
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
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = "/", m.daemonEnv(), log, log, []*os.File{told}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = told.Close()
	if err != nil {
		return 0, fmt.Errorf("the daemon cannot be started: %w", err)
	}
	if err := heard(ready, logFile); err != nil {
		_ = cmd.Wait()
		return 0, err
	}
	pid := cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// daemonEnv is the part of our environment that a daemon needs: no secret of the
// shell that happened to start it, which its jobs could see.
func (m *Main) daemonEnv() []string {
	var env []string
	for _, kv := range m.Env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "PATH", "HOME", "LANG", "SHELL", "USER", "LOGNAME", "TMPDIR", "TZ", configVar:
			env = append(env, kv)
		default:
			if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
				env = append(env, kv)
			}
		}
	}
	return env
}
