package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// sendPatience is the time in which the reader of a pipe must take a message.
const sendPatience = 30 * time.Second

// target is where the messages of a console go.
type target struct {
	path    string // of a file or a named pipe; "": none
	command string // shell text that gets each message on its standard input; "": none
}

// newTarget reads the value of --send: a path, or a command after a |.
func newTarget(value, dir string) (target, error) {
	var t target
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

// write writes one message and a newline to the file or the pipe. A message that was written in
// part is an error.
func (t target) write(ctx context.Context, text string) error {
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("no program reads %s", t.path)
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })()
	_ = f.SetWriteDeadline(time.Now().Add(sendPatience)) // a file has none
	n, err := io.WriteString(f, text+"\n")
	if err = errors.Join(err, f.Close()); err != nil && n > 0 {
		err = fmt.Errorf("%w, after %d of %d bytes", err, n, len(text)+1)
	}
	return err
}
