package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/artifact"
	"troupe/messages"
)

// Limits of sending a message.
const (
	sendPatience = 30 * time.Second // a reader of a pipe must take the message in that time
	mostReply    = 32 << 10         // bytes that are kept of what a command prints
	commandGrace = 2 * time.Second  // from TERM to KILL for a command that is given up
)

// target is where the messages of a console go.
type target struct {
	path    string // of a file or a named pipe; "": none
	command string // shell text that gets each message on its standard input; "": none
	dir     string
	env     []string
}

// newTarget reads the value of --send: a path, or a command after a |.
func newTarget(value, dir string, env []string) (target, error) {
	t := target{dir: dir, env: env}
	command, is := strings.CutPrefix(strings.TrimSpace(value), "|")
	if is {
		if t.command = strings.TrimSpace(command); t.command == "" {
			return t, invalidTarget("--send has no command after |", "give one, such as --send '| cat >>messages'")
		}
		return t, nil
	}
	if value == "" {
		return t, nil
	}
	if t.path = value; !filepath.IsAbs(value) {
		t.path = filepath.Join(dir, value)
	}
	info, err := os.Stat(t.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if info, err := os.Stat(filepath.Dir(t.path)); err != nil || !info.IsDir() {
			return t, invalidTarget("the directory of "+value+" does not exist", "create it, or give another path with --send")
		}
	case err != nil:
		return t, invalidTarget(err.Error(), "give a file, a named pipe, or a command after | with --send")
	case !info.Mode().IsRegular() && info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) == 0:
		return t, invalidTarget(value+" is neither a file nor a named pipe", "give one, or a command after | with --send")
	}
	return t, nil
}

func invalidTarget(message, hint string) error {
	err := messages.Invalid("send", message)
	err.Hint = hint
	return err
}

// name returns the target for display, "" for none.
func (t target) name() string {
	if t.command != "" {
		return "| " + t.command
	}
	return t.path
}

// send sends one message. A file gets it with a newline, a command on its standard input; reply is
// what the command has printed. A message that was sent in part is an error.
func (t target) send(ctx context.Context, text string) (reply string, err error) {
	if t.command != "" {
		return t.pass(ctx, text)
	}
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ENXIO) {
		return "", fmt.Errorf("no program reads %s", t.path)
	}
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })()
	_ = f.SetWriteDeadline(time.Now().Add(sendPatience)) // a file has none
	n, err := io.WriteString(f, text+"\n")
	if err = errors.Join(err, f.Close()); err != nil && n > 0 {
		err = fmt.Errorf("%w, after %d of %d bytes", err, n, len(text)+1)
	}
	return "", err
}

// pass runs the command with the message on its standard input. If ctx ends, its process group is
// stopped.
func (t target) pass(ctx context.Context, text string) (string, error) {
	c := exec.CommandContext(ctx, "sh", "-c", t.command)
	printed := artifact.NewTail(mostReply)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = t.dir, t.env, strings.NewReader(text), printed, printed
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return unix.Kill(-c.Process.Pid, unix.SIGTERM) }
	c.WaitDelay = commandGrace
	err := c.Run()
	if ctx.Err() != nil {
		_ = unix.Kill(-c.Process.Pid, unix.SIGKILL)
		err = ctx.Err()
	}
	reply := strings.TrimRight(printed.String(), "\n")
	if err != nil && reply != "" {
		err = fmt.Errorf("%w: %s", err, reply[strings.LastIndexByte(reply, '\n')+1:])
	}
	return reply, err
}
