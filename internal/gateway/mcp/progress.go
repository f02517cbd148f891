package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect"
	"troupe/messages"
)

// progressEvery is the interval of progress reports. Clients abandon a silent call,
// some after 15 s.
const progressEvery = 10 * time.Second

// maxProgress bounds the line of output in a report, in bytes.
const maxProgress = 200

// progress reports that a run is active, with the last line of its output.
func (c *call) progress(ctx context.Context, f *activeRun) {
	if c.task == nil && c.req.Params.GetProgressToken() == nil {
		return
	}
	line := c.lastLine(ctx, f)
	if line == "" {
		line = "running"
	}
	c.say(ctx, f.began, line)
}

// say reports the progress of a call if the client wants that.
func (c *call) say(ctx context.Context, began time.Time, what string) {
	token, took := c.req.Params.GetProgressToken(), time.Since(began)
	if c.task != nil {
		c.task.Say(fmt.Sprintf("%s (%s)", what, took.Round(time.Second)))
		return
	}
	if token == nil {
		return
	}
	_ = c.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // fails only if the client has left
		ProgressToken: token, Progress: took.Seconds(), Message: fmt.Sprintf("%s (%s)", what, took.Round(time.Second)),
	})
}

// lastLine returns the last line of a job's output, "" if there is none.
func (c *call) lastLine(ctx context.Context, f *activeRun) string {
	select {
	case <-f.known:
	default:
		return ""
	}
	job, err := dialect.Job(ctx, c.options.Host, messages.JobID(f.uid))
	if err != nil || len(job.Output) == 0 {
		return ""
	}
	page, err := c.outputTail(ctx, job, maxProgress)
	if err != nil {
		return ""
	}
	return lastOf(page.Text)
}

// lastOf returns the last line of a text, shortened for a report.
func lastOf(text string) string {
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexByte(text, '\n')+1:]
	for len(text) > maxProgress {
		_, first := utf8.DecodeRuneInString(text)
		text = text[max(first, len(text)-maxProgress):]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	return text
}
