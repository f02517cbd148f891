package acp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"troupe/internal/dialect"
	"troupe/internal/dialect/omp"
)

// updateEvery is the shortest interval between updates of a turn. An editor draws each, and
// each has up to 50 KB of text.
const updateEvery = 250 * time.Millisecond

// turn runs the command of a prompt.
type turn struct {
	session  *session
	request  jsontext.Value // id of the prompt
	id       string         // of the tool call
	command  string
	cancel   context.CancelFunc
	answered chan struct{} // closed when the prompt is answered

	announced bool   // the tool call was sent
	terminal  string // of the client; "": none

	mu     sync.Mutex
	latest *dialect.Result // not sent yet
	news   chan struct{}   // has one element if latest is set
}

// run runs the command, reports it, and answers the prompt.
func (t *turn) run(ctx context.Context) {
	defer t.cancel()
	if !t.session.remote {
		t.announce(dialect.Result{})
	}
	done := make(chan struct{})
	var pacing sync.WaitGroup
	pacing.Go(func() { t.pace(done) })
	r, err := t.session.Bash(ctx, omp.Params{Command: t.command}, t.update)
	close(done)
	pacing.Wait()
	t.conclude(r, err)
}

// update receives the output so far. The first one of a client's terminal is sent at once: a
// tool call must have the terminal before its release.
func (t *turn) update(r dialect.Result) {
	if d, ok := r.Details.(*omp.Details); ok && d.TerminalID != "" && !t.announced {
		t.terminal = d.TerminalID
		t.announce(r)
		return
	}
	t.mu.Lock()
	t.latest = &r
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// pace sends the latest update, at most one every updateEvery, until done.
func (t *turn) pace(done <-chan struct{}) {
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-done:
			return
		}
		select {
		case <-t.news:
		case <-done:
			return
		}
		t.mu.Lock()
		r := t.latest
		t.mu.Unlock()
		if t.terminal != "" { // the client shows its terminal by itself
			t.send(toolCall{Update: "tool_call_update", RawOutput: outputOf(*r)})
		} else {
			t.send(toolCall{Update: "tool_call_update", Content: textContent(r.Text)})
		}
		tick.Reset(updateEvery)
	}
}

// announce sends the tool call, once.
func (t *turn) announce(r dialect.Result) {
	if t.announced {
		return
	}
	t.announced = true
	c := toolCall{
		Update: "tool_call", Title: title(omp.CommandLine(omp.Params{Command: t.command}, "")), Kind: "execute", Status: "in_progress", RawInput: &rawInput{Command: t.command},
	}
	if t.terminal != "" {
		c.Content = []content{{Type: "terminal", TerminalID: t.terminal}}
		c.RawOutput = outputOf(r)
	}
	t.send(c)
}

// conclude sends the result and answers the prompt.
func (t *turn) conclude(r dialect.Result, err error) {
	stop := "end_turn"
	if wrong, ok := errors.AsType[*omp.ToolError](err); ok {
		r = dialect.Failure(wrong.Text)
		if wrong.Details != nil {
			r.Details = wrong.Details
		}
	} else if abort, ok := errors.AsType[*omp.AbortError](err); ok {
		stop, r.IsError, r.Text = "cancelled", true, abort.Text
	} else if err != nil {
		r = dialect.Failure(err.Error())
	}
	t.announce(dialect.Result{})
	c := toolCall{Update: "tool_call_update", Status: "completed", Content: textContent(r.Text), RawOutput: outputOf(r)}
	if r.IsError {
		c.Status = "failed"
	}
	if t.terminal != "" {
		c.Content = append([]content{{Type: "terminal", TerminalID: t.terminal}}, textContent(remark(r, stop))...)
	}
	t.send(c)
	t.session.end() // before the answer: the client may send the next prompt then
	t.session.agent.conn.answer(t.request, promptResult{StopReason: stop})
	close(t.answered)
}

func (t *turn) send(c toolCall) {
	c.ID = t.id
	t.session.agent.conn.notify("session/update", updateParams{SessionID: t.session.id, Update: c})
}

// maxTitle bounds the title of a tool call, in characters; rawInput has the whole command.
const maxTitle = 120

// title returns a command line as one line, of at most maxTitle characters.
func title(commandLine string) string {
	line := []rune(strings.Join(strings.Fields(commandLine), " "))
	if len(line) > maxTitle {
		line = append(line[:maxTitle-1], '…')
	}
	return string(line)
}

// textContent returns a text as content, none for "". Clients render it as Markdown, so it is
// in a fence, which is longer than any in it.
func textContent(text string) []content {
	if text == "" {
		return nil
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return []content{{Type: "content", Content: &block{Type: "text", Text: fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence}}}
}

// outputOf returns a result in the form of the tool bash. It has an exit code if the command
// has ended with one.
func outputOf(r dialect.Result) *rawOutput {
	o := &rawOutput{Content: []block{}, Details: r.Details, IsError: r.IsError}
	if r.Text != "" {
		o.Content = append(o.Content, block{Type: "text", Text: r.Text})
	}
	o.ExitCode = exitCode(r)
	return o
}

// exitCode returns the exit code of a command, nil if it has none.
func exitCode(r dialect.Result) *int {
	d, ok := r.Details.(*omp.Details)
	switch {
	case !ok:
		return nil
	case d.ExitCode == nil && d.WallTimeMs != nil && !r.IsError:
		return new(int)
	}
	return d.ExitCode
}

// remark returns why a command in the client's terminal has no exit code, which the terminal
// does not show: the last paragraph of the result.
func remark(r dialect.Result, stop string) string {
	if !r.IsError || exitCode(r) != nil || stop == "cancelled" {
		return ""
	}
	paragraphs := strings.Split(r.Text, "\n\n")
	return paragraphs[len(paragraphs)-1]
}
