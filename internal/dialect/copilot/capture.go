package copilot

import (
	"context"
	"strings"
	"sync"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// capture is the output of one command as models read it, made from its log as far as
// somebody asked: in memory while it is small, else in a file.
type capture struct {
	work  chan struct{} // held by who reads the log: the host may take long
	clean *artifact.TextCleaner
	large *artifact.SpillBuffer

	mu      sync.Mutex // never held while the host is asked
	from    int64      // of the log
	leaving bool       // it is to be closed by who reads the log
	closed  bool       // nothing follows
	gone    bool       // it was shown to its end
}

func (s *Session) newCapture() *capture {
	open := func() (*artifact.File, error) { return nil, artifact.ErrClosed }
	if s.options.Files != nil {
		open = func() (*artifact.File, error) {
			return s.options.Files.CreateNew(func(int) string { return artifact.LargeName(s.options.Now()) })
		}
	}
	c := &capture{work: make(chan struct{}, 1), large: artifact.NewSpillBuffer(artifact.LargeThreshold(func(name string) string { return shelltext.Value(s.options.Env, name) }), artifact.LargeHead, artifact.LargeTail, open)}
	c.clean = artifact.NewTextCleaner(c.large, artifact.CleanOptions{DropCR: true})
	return c
}

// collect takes up what a command has written since, and is what it has written so far.
// With last nothing follows, and the next look finds nothing.
func (s *Session) collect(ctx context.Context, e *execution, last bool) (artifact.SpillResult, error) {
	c := e.out
	select {
	case c.work <- struct{}{}:
		defer c.release()
	case <-ctx.Done():
		return artifact.SpillResult{}, ctx.Err()
	}
	from, gone := c.read()
	if gone {
		return artifact.SpillResult{}, nil
	}
	if c.isClosed() {
		return c.take(last), nil
	}
	next, err := dialect.Copy(ctx, s.options.Host, e.job(), messages.Merged, from, -1, c.clean, func(g messages.OutputGap) {
		_, _ = c.clean.Write([]byte(artifact.NotKept(g.To - g.From))) // never fails
	})
	c.readTo(next)
	if err != nil && !isCode(err, messages.OutputUnavailable) && !isCode(err, messages.NotFound) {
		return c.large.Result(), err
	}
	if last {
		c.mu.Lock()
		c.shut()
		c.mu.Unlock()
	}
	return c.take(last), nil
}

// take is what was taken; with last it is cleared. Called by who holds the work.
func (c *capture) take(last bool) artifact.SpillResult {
	r := c.large.Result()
	if last {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone, c.large, c.clean = true, nil, nil
	}
	return r
}

// release gives the work up; what was closed meanwhile is closed now.
func (c *capture) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving && !c.closed && !c.gone {
		c.shut()
	}
	<-c.work
}

// shut is called with c.mu by who holds the work.
func (c *capture) shut() {
	c.closed = true
	_ = c.clean.Close() // never fails
	c.large.Close()
}

// close closes the file, if there is one: at once, or behind the read that goes on.
func (c *capture) close() {
	c.mu.Lock()
	c.leaving = true
	c.mu.Unlock()
	select {
	case c.work <- struct{}{}:
		c.release()
	default: // who has it sees to it
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

// read is how far somebody has read, and whether that is the end.
func (c *capture) read() (from int64, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from, c.gone
}

// progress are the last lines of a command.
func (s *Session) progress(ctx context.Context, e *execution) string {
	page, err := s.options.Host.View(ctx, messages.ReadOutput{
		Job: e.job(), Stream: messages.Merged, View: messages.View{Kind: messages.ViewTailLine, Lines: progressLines, Bytes: updateBytes}, Plain: true,
	})
	if err != nil {
		return progressBad
	}
	text := strings.TrimRight(artifact.CleanText(page.Text, artifact.CleanOptions{DropCR: true}), "\n")
	if strings.TrimSpace(text) == "" {
		return progressNone
	}
	return text
}

const progressLines = 10
