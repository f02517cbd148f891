//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/messages"
)

// topLines is how many lines the jobs below troupe top write in a second, all together.
const topLines = 2000

// topTick is the time between two writes of lines to jobs.
const topTick = 20 * time.Millisecond

// ourTop shows many live jobs, which copy lines that this program writes, with troupe top on a
// terminal.
type ourTop struct {
	program *program
	inputs  []*os.File
	next    int // input that gets the next line
	shares  time.Duration
	keys    int
	top     *exec.Cmd
	screen  *os.File
	frames  chan []byte // what top has drawn
}

func newOurTop(ctx context.Context, e assignment) (runner, error) {
	p, err := buildProgram(ctx, filepath.Join(e.Dir, "program"))
	if err != nil {
		return nil, err
	}
	o := &ourTop{program: p, shares: time.Duration(e.Size.TopSeconds) * time.Second, keys: e.Size.Keys, frames: make(chan []byte, 64)}
	if said, err := p.command("run", "-b", "true").CombinedOutput(); err != nil {
		return o, fmt.Errorf("cannot start the daemon: %w\n%s", err, said)
	}
	c, err := client.Dial(ctx, filepath.Join(p.dir, "run", "troupe", "daemon.sock"))
	if err != nil {
		return o, err
	}
	defer c.Close()
	names := make([]string, e.Size.Watched)
	for i := range names {
		names[i] = filepath.Join(e.Dir, fmt.Sprint("input-", i))
		if err := unix.Mkfifo(names[i], 0o600); err != nil {
			return o, err
		}
		f, err := os.OpenFile(names[i], os.O_RDWR, 0)
		if err != nil {
			return o, err
		}
		o.inputs = append(o.inputs, f)
	}
	err = inFlight(starters, len(names), func(i int) error {
		_, err := c.Run(ctx, messages.RunCommand{Scope: crowd, Session: inSession(i), Mode: messages.ModeAsync, Program: messages.Program{Argv: []string{"cat", names[i]}}})
		return err
	})
	if err != nil {
		return o, err
	}
	return o, o.start()
}

// start runs troupe top on a terminal, and waits for its first rows.
func (o *ourTop) start() error {
	master, tty, err := openPty()
	if err != nil {
		return err
	}
	defer tty.Close()
	o.screen = master
	if err := setSize(tty); err != nil {
		return err
	}
	o.top = o.program.command("top")
	o.top.Env = append(o.top.Env, "TERM=xterm-256color")
	o.top.Stdin, o.top.Stdout, o.top.Stderr = tty, tty, tty
	o.top.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := o.top.Start(); err != nil {
		return err
	}
	go func() {
		defer close(o.frames)
		for {
			b := make([]byte, 64<<10)
			n, err := o.screen.Read(b)
			if err != nil {
				return
			}
			o.frames <- b[:n]
		}
	}()
	for shown := []byte(nil); !bytes.Contains(shown, []byte("running")); {
		frame, open := <-o.frames
		if !open {
			return fmt.Errorf("troupe top has ended: %q", shown)
		}
		shown = append(shown, frame...)
	}
	return nil
}

// round measures the share of a processor first, and then keys.
func (o *ourTop) round(ctx context.Context) (values, error) {
	if _, err := o.lasts(ctx, o.shares/4, nil); err != nil { // the first lists
		return nil, err
	}
	before, began := ticks([]int{o.top.Process.Pid}), time.Now()
	if _, err := o.lasts(ctx, o.shares, nil); err != nil {
		return nil, err
	}
	const ticksPerSecond = 100
	share := 100 * float64(ticks([]int{o.top.Process.Pid})-before) / ticksPerSecond / time.Since(began).Seconds()
	var times []time.Duration
	for i := range o.keys {
		if _, err := o.lasts(ctx, time.Duration(40+i%7*11)*time.Millisecond, nil); err != nil { // at any time of a frame
			return nil, err
		}
		key := "j"
		if i%16 > 7 {
			key = "k"
		}
		start := time.Now()
		if _, err := o.screen.WriteString(key); err != nil {
			return nil, err
		}
		painted, err := o.lasts(ctx, 5*time.Second, selection)
		if err == nil && !painted {
			err = errors.New("no key was painted in 5 s")
		}
		if err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
	}
	v := latencies(times)
	v["share"] = share
	return v, nil
}

// selection matches what draws a selected row: reverse video.
var selection = regexp.MustCompile(`\x1b\[(?:[0-9]+;)*7m`)

// lasts writes lines to the jobs for some time, or until top has drawn what a pattern matches.
func (o *ourTop) lasts(ctx context.Context, long time.Duration, until *regexp.Regexp) (drawn bool, err error) {
	over, tick := time.NewTimer(long), time.NewTicker(topTick)
	defer over.Stop()
	defer tick.Stop()
	var shown []byte
	for {
		select {
		case frame, open := <-o.frames:
			if !open {
				return false, errors.New("troupe top has ended")
			}
			if shown = append(shown, frame...); until == nil {
				shown = nil
			} else if until.Match(shown) {
				return true, nil
			}
		case <-tick.C:
			for range int(topLines * topTick / time.Second) {
				if _, err := o.inputs[o.next].WriteString("a line of the output of a job\n"); err != nil {
					return false, err
				}
				o.next = (o.next + 1) % len(o.inputs)
			}
		case <-over.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func (o *ourTop) close() error {
	if o.top != nil && o.top.Process != nil {
		_ = o.top.Process.Kill()
		_ = o.top.Wait()
	}
	if o.screen != nil {
		_ = o.screen.Close()
	}
	err := o.program.endDaemon()
	for _, f := range o.inputs {
		_ = f.Close()
	}
	return err
}

// setSize gives a terminal the size of a usual one.
func setSize(tty *os.File) error {
	conn, err := tty.SyscallConn()
	if err != nil {
		return err
	}
	size := aTerminal()
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(size.Rows), Col: uint16(size.Cols)})
	})
	return errors.Join(err, failed)
}
