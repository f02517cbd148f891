package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
	"troupe/spill/view"
)

// Printer prints one stream of a job.
type Printer struct {
	*connect.Command
	job     messages.JobID
	stream  messages.Stream
	flags   *Flags
	To      io.Writer
	Cleaner *view.Cleaner // nil: bytes unchanged
	lines   *lineWriter   // To, if it prints whole lines; else nil
}

// newPrinter returns the printer of a stream that goes to one of our streams.
func newPrinter(a *connect.Command, f *Flags, j source, stream messages.Stream, to *terminal.Stream) *Printer {
	r := &Printer{Command: a, job: j.uid, stream: stream, flags: f, To: to}
	if to.Terminal && !f.Raw {
		r.Cleaner = &view.Cleaner{Colours: true, Final: true, Cols: j.cols}
	}
	if j.prefix != nil || f.Times && f.Grep == "" {
		r.lines = &lineWriter{to: to, times: f.Times && f.Grep == ""}
		r.To = r.lines
	}
	if j.prefix != nil {
		r.lines.label = j.prefix(to)
	}
	return r
}

// end prints an unfinished line.
func (r *Printer) end() error {
	if r.lines == nil {
		return nil
	}
	if err := r.lines.end(); err != nil {
		return &out.OutputError{Err: err}
	}
	return nil
}

// print prints the part of the stream that the flags select, as bytes of the log.
func (r *Printer) print() error {
	f := r.flags
	if f.First > 0 || f.Limit > 0 {
		return r.pages(max(f.Offset, 1), max(f.First, f.Limit))
	}
	from, err := r.startOffset()
	if err != nil {
		return err
	}
	return r.copy(client.Range{Stream: r.stream, Follow: f.Follow, Offset: from, Since: f.since})
}

// startOffset returns the offset of the first byte that the flags select.
func (r *Printer) startOffset() (int64, error) {
	f := r.flags
	if f.Lines == 0 && f.Offset == 0 && !f.news {
		return 0, nil
	}
	look := f.view()
	if f.news {
		look = messages.View{Kind: messages.ViewTailLine, Lines: 1, Bytes: look.Bytes}
	}
	page, err := r.read(look)
	switch {
	case err != nil:
		return 0, err
	case f.news:
		return page.To, nil
	case f.Lines > 0 && page.From > 0 && linesOf(page) < max(f.Lines, 2): // a single line may lack its beginning
		return r.offsetBefore(page)
	case f.Offset > 0 && page.To == page.From:
		return page.Bytes, nil // after the last line: print what is written later
	}
	return page.From, nil
}

// read reads lines of the log, not of its text as a terminal shows it.
func (r *Printer) read(v messages.View) (messages.OutputPage, error) {
	return host.Ask(r.Ctx, r.Host(), messages.ReadOutput{Job: r.job, Stream: r.stream, View: v})
}

// readLine reads one line, by its number.
func (r *Printer) readLine(n int64) (messages.OutputPage, error) {
	return r.read(messages.View{Kind: messages.ViewPage, Offset: n, Lines: 1})
}

// linesOf counts the lines of a page. Each gap adds two newlines that are not lines: that of
// its mark, and that which ends the line before it.
func linesOf(page messages.OutputPage) int64 {
	n := int64(strings.Count(page.Text, "\n") - 2*len(page.Gaps))
	if page.Text != "" && !strings.HasSuffix(page.Text, "\n") {
		n++
	}
	return n
}

// offsetBefore returns the offset of the last Lines lines if end may lack some of them. If
// gaps hide it, offsetBefore prints a warning and returns the start of end.
func (r *Printer) offsetBefore(end messages.OutputPage) (int64, error) {
	first := max(1, end.Lines-r.flags.Lines+1)
	page, err := r.readLine(first)
	if err != nil || page.Line == first {
		return page.From, err
	}
	if len(page.Gaps) > 0 && page.Gaps[0].To <= end.From { // lines after a gap have no numbers: count newlines
		return r.back(page.Gaps[0], end.From, r.flags.Lines-linesOf(end)+1)
	}
	r.PrintError(fmt.Errorf("only the last %s are shown; read the rest with --offset and --limit", humanize.IBytes(uint64(end.To-end.From))))
	return end.From, nil
}

// back searches backwards from byte to for the ends-th newline and returns the offset after
// it. It returns the start of gap if fewer newlines follow the gap.
func (r *Printer) back(gap messages.OutputGap, to, ends int64) (int64, error) {
	for to > gap.To {
		from := max(gap.To, to-partSize)
		p, err := r.part(from, to-from)
		if err != nil {
			return 0, err
		}
		for i := bytes.LastIndexByte(p.bytes, '\n'); i >= 0; i = bytes.LastIndexByte(p.bytes[:i], '\n') {
			if ends--; ends == 0 {
				return from + int64(i) + 1, nil
			}
		}
		to = from
	}
	return gap.From, nil
}

// pages prints lines from a line number on, of any length in bytes.
func (r *Printer) pages(line, lines int64) error {
	page, err := r.readLine(line)
	if err != nil || page.Line != line && len(page.Gaps) == 0 { // there is no such line
		return err
	}
	to, err := r.offsetAfter(page.From, lines)
	if err != nil || to == page.From {
		return err
	}
	return r.copy(client.Range{Stream: r.stream, Offset: page.From, Limit: to - page.From})
}

// offsetAfter returns the offset after the lines that begin at byte at, or the end of the
// log if there are fewer.
func (r *Printer) offsetAfter(at, lines int64) (int64, error) {
	for {
		p, err := r.part(at, partSize)
		if err != nil {
			return 0, err
		}
		var in int64
		if in, lines = lineBytes(p.bytes, lines); lines == 0 {
			return p.offset(at + in), nil
		}
		if p.next == at {
			return at, nil
		}
		at = p.next
	}
}

// lineBytes returns the size of the first lines of b, and how many lines b lacks.
func lineBytes(b []byte, lines int64) (in, left int64) {
	for lines > 0 {
		i := bytes.IndexByte(b[in:], '\n')
		if i < 0 {
			break
		}
		in, lines = in+int64(i)+1, lines-1
	}
	return in, lines
}

// logChunk is a part of an output in memory.
type logChunk struct {
	bytes []byte // without the gaps
	gaps  []messages.OutputGap
	next  int64 // offset of the next chunk
}

// partSize bounds a chunk, in bytes. Tens of chunks read an output as fast as one reply.
const partSize = 1 << 20

// part reads at most limit bytes from offset at.
func (r *Printer) part(at, limit int64) (p logChunk, err error) {
	out, err := r.Output(r.Ctx, r.job, client.Range{Stream: r.stream, Offset: at, Limit: limit})
	if err != nil {
		return p, err
	}
	defer out.Close()
	if p.bytes, err = io.ReadAll(out); err != nil {
		return p, leftEarly(err)
	}
	if p.next, err = out.Next(); err != nil {
		return p, leftEarly(err)
	}
	p.gaps, err = out.Gaps()
	return p, err
}

// offset converts an offset that counts no gaps into one of the output.
func (p logChunk) offset(at int64) int64 {
	for _, g := range p.gaps {
		if g.From < at {
			at += g.To - g.From
		}
	}
	return at
}

// copy prints a range of the stream.
func (r *Printer) copy(what client.Range) error {
	if r.flags.Times {
		both := client.RangeBoth{From: map[messages.Stream]int64{r.stream: what.Offset}, Limit: what.Limit, Since: what.Since, Follow: what.Follow, Times: true}
		return showArrived(both, r)
	}
	ctx, cancel := context.WithCancel(r.Ctx)
	defer cancel()
	out, err := r.Output(ctx, r.job, what)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := r.CopyAll(out); err != nil {
		return err
	}
	gaps, err := out.Gaps()
	r.PrintGaps(gaps)
	return err
}

// CopyAll prints an output to its end.
func (r *Printer) CopyAll(from io.Reader) error {
	buf := make([]byte, out.CopyBuffer)
	for {
		n, err := from.Read(buf)
		if werr := r.write(buf[:n], errors.Is(err, io.EOF)); werr != nil {
			return &out.OutputError{Err: werr}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return leftEarly(err)
		}
	}
}

func (r *Printer) write(b []byte, last bool) error {
	if r.lines == nil || r.Cleaner == nil {
		return WriteClean(r.To, r.Cleaner, b, last)
	}
	b = r.Cleaner.Append(nil, b) // whole lines alone
	if last {
		b = r.Cleaner.End(b)
	}
	return WriteClean(r.To, nil, b, last)
}

// WriteClean prints a part of an output, through cleaner if it is not nil.
func WriteClean(to io.Writer, cleaner *view.Cleaner, b []byte, last bool) error {
	if cleaner != nil {
		b = cleaner.Append(nil, b)
		switch {
		case last:
			b = cleaner.End(b)
		case cleaner.Final:
			b = cleaner.Follow(b)
		}
	}
	if len(b) == 0 {
		return nil
	}
	_, err := to.Write(b)
	return err
}

// PrintGaps reports the bytes of an output that were not kept.
func (r *Printer) PrintGaps(gaps []messages.OutputGap) {
	lost := int64(0)
	for _, g := range gaps {
		lost += g.To - g.From
	}
	if lost > 0 {
		why := ""
		if found, err := host.Ask(r.Ctx, r.Host(), messages.FindJob{Job: r.job}); err == nil {
			why = out.WhyLost(found.Job)
		}
		r.PrintError(fmt.Errorf("%s of the output were not kept%s", humanize.IBytes(uint64(lost)), why))
	}
}
