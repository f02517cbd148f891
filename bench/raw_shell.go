//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rawShell is a bash on pipes, driven in the simple way: it gets the command, then an
// echo of a marker with its status.
type rawShell struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	n   int
	end string // line ending of its output

	next int // number of the next marker
}

func newRawShell(_ context.Context, e assignment) (runner, error) {
	r := &rawShell{cmd: exec.Command("bash", "--norc", "--noprofile"), n: e.Size.RoundTrips, end: "\n"}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	return r, r.cmd.Start()
}

func (r *rawShell) round(ctx context.Context) (values, error) {
	times := make([]time.Duration, 0, r.n)
	for i := range r.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, err := fmt.Fprintf(r.in, ":\necho __DONE_%d_$?\n", i); err != nil {
			return nil, err
		}
		if err := r.until(fmt.Sprintf("__DONE_%d_0%s", i, r.end)); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
	}
	return latencies(times), nil
}

// until reads to the line that ends with a marker. A terminal also echoes its input.
func (r *rawShell) until(marker string) error {
	for {
		line, err := r.out.ReadString('\n')
		if err != nil || strings.HasSuffix(line, marker) {
			return err
		}
		if r.end == "\n" {
			return fmt.Errorf("the shell printed %q", line)
		}
	}
}

// newRawShellOnTerminal starts the same bash interactively, with its line editor.
func newRawShellOnTerminal(_ context.Context, e assignment) (runner, error) {
	r, err := rawShellOn(exec.Command("bash", "--norc", "--noprofile", "-i"), 0)
	if err != nil {
		return nil, err
	}
	r.n = e.Size.RoundTrips
	return r, nil
}

// rawShellOn starts a shell on a terminal with some modes off.
func rawShellOn(cmd *exec.Cmd, off uint32) (*rawShell, error) {
	master, slave, err := openPty()
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	r := &rawShell{cmd: cmd, in: master, out: bufio.NewReader(master), end: "\r\n"}
	if err := without(slave, off); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "PS1=$ ", "TERM=xterm-256color", "HISTFILE=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	return r, nil
}

// without turns off local modes of a terminal.
func without(tty *os.File, modes uint32) error {
	conn, err := tty.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		t, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		if err == nil {
			t.Lflag &^= modes
			err = unix.IoctlSetTermios(int(fd), unix.TCSETS, t)
		}
		failed = err
	})
	return errors.Join(err, failed)
}

func (r *rawShell) close() error {
	_ = r.in.Close()
	err := r.cmd.Wait()
	if r.end != "\n" { // it got SIGHUP
		return nil
	}
	return err
}
