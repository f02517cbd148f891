package copilot

import (
	"context"
	"sync"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// Limits of the output shown while a call waits.
const (
	updateBytes = 10 << 10
	updateEvery = 100 * time.Millisecond
)

// partialOutput shows the output of a command until end, from one goroutine at a time.
type partialOutput struct {
	s    *Session
	e    *execution
	show func(dialect.Result) // nil: interim results are not wanted

	stop context.CancelFunc
	all  sync.WaitGroup
	mu   sync.Mutex
	last string
}

func (s *Session) newPartial(e *execution, show func(dialect.Result)) *partialOutput {
	return &partialOutput{s: s, e: e, show: show, stop: func() {}}
}

// begin starts to show output. It is called when the node knows the command.
func (p *partialOutput) begin(ctx context.Context) {
	if p.show == nil {
		return
	}
	p.mu.Lock()
	ctx, p.stop = context.WithCancel(ctx)
	p.mu.Unlock()
	p.all.Add(1)
	p.s.options.Beside.Go(func() {
		defer p.all.Done()
		_ = dialect.Live(ctx, p.s.options.Host, p.e.job(), messages.Merged, p.view, updateEvery, p.say) // an error loses nothing: the result has the whole output
	})
}

// view reads the end of the output.
func (p *partialOutput) view(ctx context.Context) (messages.OutputPage, error) {
	return host.ReadFinal(ctx, p.s.options.Host, messages.ReadOutput{Job: p.e.job(), Stream: messages.Merged, View: messages.View{Kind: messages.ViewTail, Bytes: updateBytes}})
}

func (p *partialOutput) say(page messages.OutputPage) {
	if page.Text == p.last {
		return
	}
	p.last = page.Text
	p.show(dialect.Result{Text: page.Text, Details: &Details{ShellID: p.e.id, Status: StatusRunning, ExecutionMode: InSync, AttachmentMode: Attached, OutputBytes: page.Bytes}})
}

// end stops showing output. wrote shows the last output, too.
func (p *partialOutput) end(ctx context.Context, wrote bool) {
	if p.show == nil {
		return
	}
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.all.Wait()
	if !wrote {
		return
	}
	page, err := p.view(ctx)
	if err == nil && page.Bytes > 0 {
		p.say(page)
	}
}
