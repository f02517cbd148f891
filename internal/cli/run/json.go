package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"troupe/internal/cli/out"
	"troupe/messages"
	"troupe/spill/view"
)

// resultObject is what run --json prints: the job object with a view of what it
// wrote.
type resultObject struct {
	job  messages.Job
	more resultText
}

// resultText is what run adds to the job object.
type resultText struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// MarshalJSON implements json.Marshaler: the fields of both, in one object.
func (o *resultObject) MarshalJSON() ([]byte, error) {
	job, err := out.PlainJSON(o.job)
	if err != nil {
		return nil, err
	}
	more, err := out.PlainJSON(o.more)
	if err != nil {
		return nil, err
	}
	return append(append(job[:len(job)-1], ','), more[1:]...), nil
}

// object waits until the object is made, which takes long for an output of
// gigabytes. A signal ends that: lines are not counted any more, and what still
// hangs then is left out.
func (g *foreground) object(job messages.Job, result func(context.Context, messages.Job) *resultObject) *resultObject {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	made := make(chan *resultObject, 1)
	go func() { made <- result(ctx, job) }()
	var late <-chan time.Time
	for again := false; ; again = true {
		select {
		case object := <-made:
			return object
		case sig := <-g.signals.Heard:
			g.signals.First(sig)
			g.hurried = true
		case <-late:
		}
		if again {
			g.screen.Notef("interrupted: the result has no text and no line counts")
			return bare(job)
		}
		cancel()
		late = g.signals.Late()
	}
}

// bare is the object of an output that was not looked at: it has no text, and
// names no files, which end with the node unless they are kept.
func bare(job messages.Job) *resultObject {
	object := &resultObject{job: job, more: resultText{Truncated: wrote(job)}}
	object.job.Output = slices.Clone(job.Output)
	for i := range object.job.Output {
		object.job.Output[i].File = ""
	}
	return object
}

// wrote says whether a job has printed anything.
func wrote(job messages.Job) bool {
	return slices.ContainsFunc(job.Output, func(out messages.StreamOutput) bool { return out.Bytes > 0 })
}

// result makes the object: exact counts, a file for what the text leaves out,
// and the text. The job that it is made of stays as it is.
func (g *foreground) result(ctx context.Context, job messages.Job) *resultObject {
	object := &resultObject{job: job}
	object.job.Output = slices.Clone(job.Output)
	shown, err := g.host.view(ctx, job)
	if err != nil && job.Outcome != messages.FailedToStart {
		g.screen.Notef("the output cannot be read: %v", err)
		shown.Truncated = wrote(job)
	}
	file, whole := "", "all of it"
	for i := range object.job.Output {
		out := &object.job.Output[i]
		g.count(ctx, out)
		if shown.Truncated || out.File != "" {
			g.keep(job, out)
		}
		file = out.File
		if len(out.Elided) > 0 {
			whole = "what is left of it"
		}
	}
	if len(object.job.Output) > 1 {
		file = "the files of stdout and stderr"
	}
	object.more = resultText{Text: marker(shown, whole, file) + shown.Text, Truncated: shown.Truncated}
	return object
}

// count asks for the number of lines, which are counted only when wanted. Of
// nothing there are none; else it is said why they are not known.
func (g *foreground) count(ctx context.Context, out *messages.StreamOutput) {
	page, err := g.host.count(ctx, g.job, out.Stream)
	if err != nil {
		out.Counted, out.LinesExact = out.Bytes == 0, out.Bytes == 0
		switch {
		case out.Counted:
		case ctx.Err() != nil:
			g.screen.Notef("the lines of %s were not counted: a signal came", out.Stream)
		default:
			g.screen.Notef("the lines of %s cannot be counted: %v", out.Stream, err)
		}
		return
	}
	out.Bytes, out.Lines, out.Counted, out.LinesExact = page.Bytes, page.Lines, true, page.LinesExact
}

// keep moves the output to where it outlives us. A file that would be gone is
// not named.
func (g *foreground) keep(job messages.Job, out *messages.StreamOutput) {
	file, err := g.host.keep(job, *out)
	if err != nil {
		g.screen.Notef("the %s output cannot be kept: %v", out.Stream, err)
	}
	out.File = file
}

// marker is a line that says what the text leaves out in front.
func marker(v view.View, whole, file string) string {
	left := v.Bytes
	for _, s := range v.Spans {
		left -= s.To - s.From
	}
	switch {
	case !v.Truncated || left <= 0:
		return ""
	case file == "":
		return fmt.Sprintf("[%d bytes left out]\n", left)
	}
	return fmt.Sprintf("[%d bytes left out; %s is in %s]\n", left, whole, file)
}
