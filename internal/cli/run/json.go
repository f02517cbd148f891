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

// resultObject is what run --json prints: the job with the text of its output.
type resultObject struct {
	job  messages.Record
	more resultText
}

// resultText holds the fields that run adds to the job object.
type resultText struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// MarshalJSON implements json.Marshaler: both sets of fields in one object.
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

// object waits for the result object, which takes long for gigabytes of output. The
// first signal ends the counting of lines. After a second one, or ReaderPatience, the
// object has no text.
func (g *foreground) object(job messages.Record, result func(context.Context, messages.Record) *resultObject) *resultObject {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	made := make(chan *resultObject, 1)
	go func() { made <- result(ctx, job) }()
	var late <-chan time.Time
	for again := false; ; again = true {
		select {
		case object := <-made:
			return object
		case sig := <-g.signals.Incoming:
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

// bare returns an object without text and files: a file that was not kept ends with the
// node.
func bare(job messages.Record) *resultObject {
	object := &resultObject{job: job, more: resultText{Truncated: wrote(job)}}
	object.job.Output = slices.Clone(job.Output)
	for i := range object.job.Output {
		object.job.Output[i].File = ""
	}
	return object
}

// wrote reports whether a job has written any output.
func wrote(job messages.Record) bool {
	return slices.ContainsFunc(job.Output, func(out messages.StreamOutput) bool { return out.Bytes > 0 })
}

// result makes the object: exact counts, a file with the bytes that the text leaves
// out, and the text. It does not change job.
func (g *foreground) result(ctx context.Context, job messages.Record) *resultObject {
	object := &resultObject{job: job}
	object.job.Output = slices.Clone(job.Output)
	shown, err := g.host.view(ctx, job)
	if err != nil && job.End.Outcome != messages.FailedToStart {
		g.screen.Notef("cannot read the output: %v", err)
		shown.Truncated = wrote(job)
	}
	file, whole := "", "the whole output"
	for i := range object.job.Output {
		out := &object.job.Output[i]
		g.count(ctx, out)
		if shown.Truncated || out.File != "" {
			g.keep(job, out)
		}
		file = out.File
		if len(out.Elided) > 0 {
			whole = "the kept output"
		}
	}
	if len(object.job.Output) > 1 {
		file = "the files of stdout and stderr"
	}
	object.more = resultText{Text: marker(shown, whole, file) + shown.Text, Truncated: shown.Truncated}
	return object
}

// count fills in the number of lines, or prints why it is unknown. An empty stream has
// none.
func (g *foreground) count(ctx context.Context, out *messages.StreamOutput) {
	page, err := g.host.count(ctx, out.Stream)
	if err != nil {
		if out.LinesExact = out.Bytes == 0; out.LinesExact {
			out.Lines = new(int64(0))
		}
		switch {
		case out.LinesExact:
		case ctx.Err() != nil:
			g.screen.Notef("the lines of %s were not counted: interrupted by a signal", out.Stream)
		default:
			g.screen.Notef("cannot count the lines of %s: %v", out.Stream, err)
		}
		return
	}
	out.Bytes, out.Lines, out.LinesExact = page.Bytes, &page.Lines, page.LinesExact
}

// keep moves the output to a file that outlives us. Without such a file the field is
// "".
func (g *foreground) keep(job messages.Record, out *messages.StreamOutput) {
	file, err := g.host.keep(job, *out)
	if err != nil {
		g.screen.Notef("cannot keep the %s output: %v", out.Stream, err)
	}
	out.File = file
}

// marker returns the first line of the text, which says how much was left out; "":
// nothing.
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
