package console

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// How often the output of a command is shown while it runs, and how much of its end is
// read, in bytes: while it runs, when it has ended, and expanded.
const (
	watchEvery = 50 * time.Millisecond
	liveBytes  = 32 << 10
	finalBytes = 256 << 10
	wholeBytes = messages.MaxViewBytes
)

// watch shows the end of the output of a job until ctx ends, once the job is known. Stdout and
// stderr are one text, in the order of their arrival.
func (d *driver) watch(ctx context.Context, id int, known chan messages.JobID) {
	var job messages.JobID
	select {
	case job = <-known:
		known <- job // for the end
	case <-ctx.Done():
		return
	}
	d.tell(knownMsg{id, job})
	var both sync.WaitGroup
	for _, stream := range []messages.Stream{messages.Stdout, messages.Stderr} {
		both.Go(func() {
			_ = dialect.Follow(ctx, d.host, job, stream, watchEvery, func(from int64, over bool) (int64, error) { // an error loses nothing: the end is read anew
				if over {
					return from, nil
				}
				page, err := d.end(ctx, job, liveBytes)
				if err == nil {
					d.tell(outputMsg{id, page.Text, page.Truncated})
				}
				return from, err
			})
		})
	}
	both.Wait()
}

// end reads the end of the output of a job, without control sequences.
func (d *driver) end(ctx context.Context, job messages.JobID, most int) (messages.OutputPage, error) {
	return host.Ask(ctx, d.host, messages.ReadOutput{Job: job, Stream: messages.Both, View: messages.View{Kind: messages.ViewTail, Bytes: most}, Plain: true})
}

// Load implements effects.
func (d *driver) Load(id int, job messages.JobID) tea.Cmd {
	return func() tea.Msg {
		page, err := d.end(d.ctx, job, wholeBytes)
		return loadedMsg{id, page.Text, page.Truncated, err}
	}
}
