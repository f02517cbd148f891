package run

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"troupe/internal/cli"
	"troupe/messages"
)

// Timing of the progress line: the silence before it, and the time between two
// drawings. Most commands take less than three seconds.
const (
	SilentFor = 3 * time.Second
	DrawEvery = time.Second
)

// progress draws a line on the terminal while the command is silent, until the returned
// function is called.
func (g *foreground) progress(ctx context.Context) func() {
	kind, _ := g.main.Getenv("TERM")
	if !g.screen.Err.Terminal || g.request.Terminal != (messages.Terminal{}) || kind == "" || kind == "dumb" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.drawProgress(ctx, time.Now())
	}()
	return func() {
		cancel()
		<-done
		g.screen.Clear()
	}
}

func (g *foreground) drawProgress(ctx context.Context, begun time.Time) {
	tick := time.NewTicker(DrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		job, err := g.host.job(ctx)
		if err != nil || !g.mayDraw() {
			continue
		}
		g.screen.Draw(g.fit(progressLine(job, time.Since(begun))), SilentFor)
	}
}

func progressLine(job messages.Record, since time.Duration) string {
	line := fmt.Sprintf("troupe: %s %s", job.State, since.Truncate(time.Second))
	bytes := int64(0)
	for _, out := range job.Output {
		bytes += out.Bytes
	}
	if bytes > 0 {
		line += ", " + humanize.IBytes(uint64(bytes)) + " so far"
	}
	if job.PID > 0 {
		line += fmt.Sprintf(", pid %d", job.PID)
	}
	return line
}

// mayDraw reports whether we are in the terminal's foreground group: a background
// program must not write there unasked.
func (g *foreground) mayDraw() bool {
	ours := false
	_ = cli.Control(g.screen.Err.File, func(fd int) {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		ours = err == nil && group == unix.Getpgrp()
	})
	return ours
}

// fit cuts a line to the width of the terminal: a wrapped line cannot be erased.
func (g *foreground) fit(line string) string {
	_ = cli.Control(g.screen.Err.File, func(fd int) {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 && len(line) >= width {
			line = line[:width-1]
		}
	})
	return line
}
