package logs

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// errNoMatch ends a search that found no line, with the status of grep(1).
var errNoMatch = cli.ExitStatus(1)

// search prints the lines of a job that match, of one stream after the other.
func search(printers []*Printer, s *terminal.Printer) error {
	matched := false
	for _, r := range printers {
		is, err := r.search(s)
		if s.Err.Terminal {
			s.Clear()
		}
		if err != nil {
			return err
		}
		matched = matched || is
	}
	if !matched {
		return errNoMatch
	}
	return nil
}

// search prints the lines of a stream that match, page by page. The daemon searches what there is
// at the first page.
func (r *Printer) search(s *terminal.Printer) (matched bool, err error) {
	v, size := r.flags.view(), int64(-1)
	var gaps []messages.OutputGap
	for {
		page, err := r.read(v)
		if err != nil {
			return matched, err
		}
		if size < 0 {
			size = page.Bytes
		}
		matched, gaps = matched || page.Matches > 0, append(gaps, page.Gaps...)
		last := page.Next == "" || page.To >= size
		if err := r.write([]byte(page.Text), last); err != nil {
			return matched, &out.OutputError{Err: err}
		}
		if last {
			r.PrintGaps(gaps)
			return matched, nil
		}
		if s.Err.Terminal {
			s.Draw(fmt.Sprintf("troupe: searched %d%% of %s", 100*page.To/max(size, 1), humanize.IBytes(uint64(size))), 0)
		}
		v.Cursor = page.Next
	}
}

// showPage prints a page of a stream as one JSON object.
func showPage(a *connect.Command, f *Flags, j source) error {
	if len(j.streams) > 1 {
		e := messages.Invalid("stream", fmt.Sprintf("--json prints a page of one stream, but job %s has %s", j.id, streamNames(j.streams)))
		e.Hint = "choose one with --stream stdout or --stream stderr"
		return e
	}
	read := host.ReadFinal
	if f.Raw || f.Grep != "" {
		read = func(ctx context.Context, h host.Doer, r messages.ReadOutput) (messages.OutputPage, error) {
			return host.Ask(ctx, h, r)
		}
	}
	page, err := read(a.Ctx, a.Host(), messages.ReadOutput{Job: j.uid, Stream: j.streams[0], View: f.view(), Plain: !f.Raw})
	if err != nil {
		return err
	}
	if err := a.Object(page); err != nil || f.Grep == "" || page.Matches > 0 || page.Next != "" {
		return err
	}
	return errNoMatch
}

// checkGrep rejects flags that do not go with --grep.
func (f *Flags) checkGrep(given func(string) bool) error {
	if !given("grep") {
		if given("context") {
			return messages.Invalid("context", "--context requires --grep")
		}
		return nil
	}
	if f.Grep == "" {
		return messages.Invalid("grep", "the pattern of --grep is empty; give a regular expression")
	}
	for _, name := range []string{"lines", "tail", "head", "offset", "limit", "since"} {
		if given(name) {
			return messages.Invalid("grep", "--grep and --"+name+" contradict each other: --grep searches the whole output; give one of them")
		}
	}
	if f.Follow {
		e := messages.Invalid("grep", "--grep and -f contradict each other: --grep searches the output as it is now")
		e.Hint = "use troupe logs -f JOB | grep RE, or troupe wait --match RE JOB"
		return e
	}
	v := f.view()
	if err := v.CheckMatches(); err != nil {
		return err
	}
	return nil
}
