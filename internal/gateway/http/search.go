package http

import (
	"net/http"
	"strings"

	"troupe/internal/api"
	"troupe/messages"
)

// search sends the lines of a stream that match grep, as grep -n prints them. It reads the
// output in pages, and stops when the client leaves.
func (c *request) search() error {
	for _, name := range []string{"follow", "offset", "limit", "since", "offset_stdout", "offset_stderr"} {
		if c.query.Has(name) {
			return messages.Invalid(name, name+" and grep contradict each other: grep searches the whole output as it is now; give one of them")
		}
	}
	if c.query.Text("stream") == api.BothStreams {
		return messages.Invalid("stream", "grep searches one stream; use stream=stdout or stream=stderr")
	}
	r := messages.ReadOutput{}
	if err := c.query.View(&r); err != nil {
		return err
	}
	job, out, err := c.outputTarget()
	if err != nil {
		return err
	}
	ctx, cancel := c.stream()
	defer cancel()
	r.Job, r.Plain, r.View.Bytes = messages.JobID(job.UID), false, searchPage
	page, err := c.node.Read(ctx, r)
	if err != nil {
		return err
	}
	if page.Bytes < out.Bytes {
		return messages.OutputForgotten()
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Trailer", api.GapsTrailer)
	h.Set(api.StreamHeader, out.Stream.String())
	c.w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(c.w)
	var gaps []string
	for size := page.Bytes; ; { // a job that writes on does not prolong its search
		if text := gapsText(page.Gaps); text != "" {
			gaps = append(gaps, text)
		}
		if _, err := c.w.Write([]byte(page.Text)); err != nil || rc.Flush() != nil {
			panic(http.ErrAbortHandler)
		}
		if page.Next == "" || page.To >= size {
			break
		}
		r.View.Cursor = page.Next
		if page, err = c.node.Read(ctx, r); err != nil {
			panic(http.ErrAbortHandler) // the reader sees that the reply is incomplete
		}
	}
	h.Set(api.GapsTrailer, strings.Join(gaps, ","))
	return nil
}

// searchPage is the text of a search that is in memory at a time, in bytes.
const searchPage = 256 << 10
