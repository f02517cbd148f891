package top

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"troupe/client"
	"troupe/host"
	"troupe/messages"
)

// How often the pane is read: at most once in paneEvery, and not before a row has been selected
// for paneSettles, as keys that are held down select many.
const (
	paneEvery   = 100 * time.Millisecond
	paneSettles = 30 * time.Millisecond
)

// paneBytes bounds the text that the pane reads.
const paneBytes = 64 << 10

// pane is what the selected job has written, or what its terminal shows.
type pane struct {
	of     rowKey
	state  messages.State // at the last read
	lines  []string       // the last ones
	screen bool
	over   bool // nothing can follow, or the read has failed
	err    error
	cancel context.CancelFunc
	nth    int // of the selection: a read for an older one is void
}

// paneRead is a read of the pane.
type paneRead struct {
	nth    int
	job    messages.Record
	lines  []string
	screen bool
	err    error
	over   bool // nothing can follow
}

// follow reads the pane for the selected row, if that is another one than before, or a job in
// another state than when nothing could follow.
func (m *model) follow() tea.Cmd {
	same := m.pane.of == m.selected
	if at, is := m.current(); same && !(m.pane.over && is && at.job != nil && at.job.State != m.pane.state) {
		return nil
	}
	lines := m.pane.lines
	if m.pane.cancel != nil {
		m.pane.cancel()
	}
	m.pane = pane{of: m.selected, nth: m.pane.nth + 1}
	if same {
		m.pane.lines = lines
	}
	if m.selected.kind != jobRow || m.selected.uid == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx())
	m.pane.cancel = cancel
	return m.readPane(ctx, nil, paneSettles)
}

// readPane waits until the job has written more than in its record before, if that is given,
// and reads the end of its output. The least wait is given.
func (m *model) readPane(ctx context.Context, before *messages.Record, least time.Duration) tea.Cmd {
	nth, id, most := m.pane.nth, messages.JobID(m.selected.uid), max(m.height, 1)
	return func() tea.Msg {
		if !pause(ctx, least) {
			return nil
		}
		grew := true
		var err error
		if before != nil {
			grew, err = awaitGrowth(ctx, m.Client, *before)
		}
		read := paneRead{err: err}
		if err == nil {
			read = readOutput(ctx, m.Host(), id, most)
		}
		if ctx.Err() != nil {
			return nil
		}
		read.nth, read.over = nth, read.over || !grew
		return read
	}
}

// takePane takes a read, and waits for the next one.
func (m *model) takePane(read paneRead) tea.Cmd {
	if read.nth != m.pane.nth {
		m.dirty = false
		return nil
	}
	m.pane.over = read.over || read.err != nil
	if m.pane.err = read.err; read.err != nil {
		return nil
	}
	m.pane.lines, m.pane.screen, m.pane.state = read.lines, read.screen, read.job.State
	if read.over {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx())
	m.pane.cancel()
	m.pane.cancel = cancel
	return m.readPane(ctx, &read.job, paneEvery)
}

// readOutput reads the last lines of a job: of its terminal, or of its output, in which control
// sequences have had their effect.
func readOutput(ctx context.Context, h host.Host, id messages.JobID, lines int) paneRead {
	found, err := host.Ask(ctx, h, messages.FindJob{Job: id})
	read := paneRead{job: found.Job, err: err}
	if err != nil || len(found.Job.Output) == 0 {
		read.over = true
		return read
	}
	read.over = found.Job.State == messages.Retired || found.Job.State.Ended() && !found.Job.OutputOpen
	if found.Job.Terminal != (messages.Terminal{}) {
		shown, err := host.Ask(ctx, h, messages.ReadScreen{Job: id})
		if err == nil {
			read.screen, read.lines = true, lastOf(shown.Lines, lines)
			read.job.Output = []messages.StreamOutput{{Stream: found.Job.Output[0].Stream, Bytes: shown.At}}
			return read
		}
	}
	stream := found.Job.Output[0].Stream
	if len(found.Job.Output) > 1 {
		stream = messages.Both
	}
	page, err := host.Ask(ctx, h, messages.ReadOutput{Job: id, Stream: stream, Final: true, View: messages.View{Kind: messages.ViewTailLine, Lines: lines, Bytes: paneBytes}})
	read.err = err
	read.lines = lastOf(strings.Split(strings.TrimRight(page.Text, "\n"), "\n"), lines)
	return read
}

// lastOf returns the last lines, without empty ones at the end.
func lastOf(all []string, most int) []string {
	for len(all) > 0 && strings.TrimSpace(all[len(all)-1]) == "" {
		all = all[:len(all)-1]
	}
	return all[max(0, len(all)-most):]
}

// errGrew ends a follow at its first byte.
var errGrew = errors.New("the output has grown")

// awaitGrowth waits until a job has written more than in its record, and reports whether it
// has: false means that nothing can follow.
func awaitGrowth(ctx context.Context, c *client.Client, job messages.Record) (grew bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := messages.JobID(job.UID)
	if len(job.Output) == 1 {
		o, err := c.Output(ctx, id, client.Range{Stream: job.Output[0].Stream, Offset: job.Output[0].Bytes, Follow: true})
		if err != nil {
			return false, err
		}
		defer o.Close()
		n, err := o.Read(make([]byte, 1))
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n > 0, err
	}
	from := map[messages.Stream]int64{}
	for _, o := range job.Output {
		from[o.Stream] = o.Bytes
	}
	_, err = c.OutputBoth(ctx, id, client.RangeBoth{From: from, Follow: true}, func(client.Arrived) error { return errGrew })
	if errors.Is(err, errGrew) {
		return true, nil
	}
	return false, err
}
