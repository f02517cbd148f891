package copilot

import (
	"context"
	"strings"
	"sync"

	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// capture is the output of one command as models read it, converted from its log on demand
// . It is in memory while small, then in a file.
type capture struct {
	work  chan struct{} // capacity 1; held while the log is read, which may take long
	clean *artifact.TextCleaner
	large *artifact.SpillBuffer

	mu      sync.Mutex // not held during calls of the host
	from    int64      // offset in the log
	leaving bool       // close was called; the holder of work closes the file
	closed  bool       // the output is complete
	gone    bool       // the output was shown to its end
}

func (s *Session) newCapture(detached bool) *capture {
	open := func() (*artifact.File, error) { return nil, artifact.ErrClosed }
	if s.options.Files != nil {
		open = func() (*artifact.File, error) {
			return s.options.Files.CreateNew(func(int) string { return artifact.LargeName(s.options.Now()) })
		}
	}
	c := &capture{work: make(chan struct{}, 1), large: artifact.NewSpillBuffer(artifact.LargeThreshold(func(name string) string { return shelltext.Value(s.options.Env, name) }), artifact.LargeHead, artifact.LargeTail, open)}
	o := artifact.CleanOptions{Final: true}
	if s.can.TTYSupport && !detached {
		o.Cols = terminal.Cols
	}
	c.clean = artifact.NewTextCleaner(c.large, o)
	return c
}

// captured is the output of a command so far.
type captured struct {
	artifact.SpillResult
	fullScreen bool // it ends on the alternate screen
}

// collect adds what the command has written since the last call, and returns all of its
// output so far. last completes the output; later calls return nothing.
func (s *Session) collect(ctx context.Context, e *execution, last bool) (captured, error) {
	c := e.out
	select {
	case c.work <- struct{}{}:
		defer c.release()
	case <-ctx.Done():
		return captured{}, ctx.Err()
	}
	from, gone := c.read()
	if gone {
		return captured{}, nil
	}
	if c.isClosed() {
		return c.take(last), nil
	}
	next, err := dialect.Copy(ctx, s.options.Host, e.job(), messages.Merged, from, -1, c.clean, func(g messages.OutputGap) {
		_, _ = c.clean.Write([]byte(artifact.NotKept(g.To - g.From))) // never fails
	})
	c.readTo(next)
	if err != nil && !isCode(err, messages.OutputUnavailable) && !isCode(err, messages.NotFound) {
		return captured{SpillResult: c.large.Result()}, err
	}
	if last {
		c.mu.Lock()
		c.shut()
		c.mu.Unlock()
	}
	return c.take(last), nil
}

// take returns the output so far, with its incomplete line. With last it clears it. The
// caller holds work.
func (c *capture) take(last bool) captured {
	rest := c.clean.Rest()
	if !c.large.Fits(len(rest)) {
		_ = c.clean.Flush() // never fails
		rest = nil
	}
	r := captured{c.large.Result(), c.clean.FullScreen()}
	r.Text += string(rest)
	r.Bytes += int64(len(rest))
	if last {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone, c.large, c.clean = true, nil, nil
	}
	return r
}

// release releases work, and closes the capture if close was called meanwhile.
func (c *capture) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving && !c.closed && !c.gone {
		c.shut()
	}
	<-c.work
}

// shut completes the output and closes its file. The caller holds c.mu and work.
func (c *capture) shut() {
	c.closed = true
	_ = c.clean.Close() // never fails
	c.large.Close()
}

// close closes the file, if there is one: now, or after the read that is under way.
func (c *capture) close() {
	c.mu.Lock()
	c.leaving = true
	c.mu.Unlock()
	select {
	case c.work <- struct{}{}:
		c.release()
	default: // the holder closes it in release
	}
}

func (c *capture) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *capture) readTo(from int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = from
}

// read returns how far the log was read, and whether the output was shown to its end.
func (c *capture) read() (from int64, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from, c.gone
}

// progress returns the last lines of a command's output.
func (s *Session) progress(ctx context.Context, e *execution) string {
	page, err := host.ReadFinal(ctx, s.options.Host, messages.ReadOutput{
		Job: e.job(), Stream: messages.Merged, View: messages.View{Kind: messages.ViewTailLine, Lines: progressLines, Bytes: updateBytes},
	})
	if err != nil {
		return progressBad
	}
	text := strings.TrimRight(page.Text, "\n")
	if strings.TrimSpace(text) == "" {
		return progressNone
	}
	return text
}

const progressLines = 10
