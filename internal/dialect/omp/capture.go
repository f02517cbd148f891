package omp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/internal/shelltext/minimize"
	"troupe/messages"
)

// headReason is the reason for stopping a command whose first lines are complete.
const headReason = "its first lines were all that was asked for"

// stopAfterHead stops a command when it writes more than the first lines, as a pipe into
// head would. A command that writes nothing more continues.
func (s *Session) stopAfterHead(ctx context.Context, f *activeRun, id messages.JobID) {
	mark := shelltext.LineLimit{Lines: f.stopAt}
	for from, there := int64(0), false; ; {
		b, err := s.options.Host.Bytes(ctx, id, messages.Merged, from, copyPiece, true)
		if err != nil || b.Next <= from {
			return
		}
		if there {
			break
		}
		from = b.Next
		if _, there = mark.Feed(b.Data); there {
			from = max(from, b.Size) // head would have read what was written by now
		}
	}
	f.headStop.Store(true)
	_, err := host.Ask(ctx, s.options.Host, messages.StopCommand{Job: id, Grace: grace, Reason: headReason})
	if err != nil && ctx.Err() == nil {
		s.options.Log.Warn("a command could not be stopped after its first lines", "job", string(id), "error", err)
	}
}

// copyPiece bounds the part of an output in memory, in bytes.
const copyPiece = 64 << 10

// capture returns what is shown of a command's output, and the notes about it. text is the
// output in the reply of its run, nil without a reply.
func (s *Session) capture(ctx context.Context, f *activeRun, job messages.Record, text *dialect.Text, e ended) (Captured, []string) {
	notes := e.notes
	if f.feed != nil {
		return s.finishFeed(ctx, f, job), notes
	}
	if len(job.Output) == 0 {
		return Captured{}, notes
	}
	out := job.Output[0]
	if lost := notKept(job); lost > 0 {
		notes = append(notes, fmt.Sprintf(textNotKept, size(lost)))
	}
	if text != nil && !text.Truncated && f.limits.head == 0 && !s.sixel() { // plain text
		return s.shown(f, text.Text, e), notes
	}
	if out.Bytes == 0 {
		return Captured{}, notes
	}
	if s.minimizes(f, e) && out.Bytes <= int64(s.maxCapture()) {
		var all strings.Builder
		if err := s.read(ctx, job, out.Stream, 0, &all); err == nil {
			return s.shown(f, all.String(), e), notes
		}
	}
	w := s.window()
	err := s.read(ctx, job, out.Stream, f.limits.head, w)
	if err != nil {
		s.options.Log.Warn("an output could not be read", "job", string(job.UID), "error", err)
		notes = append(notes, fmt.Sprintf(textUnread, err))
	}
	return summary(w.Close("")), notes
}

func notKept(job messages.Record) int64 {
	var lost int64
	for _, o := range job.Output {
		for _, gap := range o.Elided {
			lost += gap.To - gap.From
		}
	}
	return lost
}

// window returns a buffer for the end of an output. The whole output becomes an artifact if
// the session makes any.
func (s *Session) window() *artifact.TailBuffer {
	if s.options.Files == nil {
		return artifact.NewTailBuffer(window, nil)
	}
	return artifact.NewTailBuffer(window, func() (*artifact.File, error) {
		file, err := s.options.Files.Create(artifact.ToolBash)
		if err != nil {
			s.options.Log.Warn("no artifact could be made", "error", err)
		}
		return file, err
	})
}

func summary(sum artifact.Summary) Captured {
	c := Captured{
		Text: sum.Text, Truncated: sum.Truncated, TotalLines: sum.TotalLines, TotalBytes: sum.TotalBytes,
		OutputLines: sum.OutputLines, OutputBytes: sum.OutputBytes,
	}
	if sum.File != nil {
		c.ArtifactID, c.Path = sum.File.ID, sum.File.Path
	}
	return c
}

// errHeadComplete ends a copy after the requested lines.
var errHeadComplete = errors.New("all requested lines are copied")

// read writes an output as clean text: its first head lines, or all with 0.
func (s *Session) read(ctx context.Context, job messages.Record, stream messages.Stream, head int, w io.Writer) error {
	clean := s.cleaner(w, head)
	_, err := dialect.Copy(ctx, s.options.Host, messages.JobID(job.UID), stream, 0, -1, clean, nil)
	if err == nil {
		err = clean.Close()
	}
	if errors.Is(err, errHeadComplete) {
		err = nil
	}
	return err
}

// cleaner returns a writer that keeps the text of an output, and its
// pictures if the user wants them. It passes on the first lines, or all with 0. The
// caller closes it.
func (s *Session) cleaner(w io.Writer, lines int) *artifact.TextCleaner {
	if lines > 0 {
		w = &firstLines{w: w, mark: shelltext.LineLimit{Lines: lines}}
	}
	return artifact.NewTextCleaner(w, artifact.CleanOptions{Sixel: s.sixel()})
}

func (s *Session) sixel() bool {
	return artifact.SixelAllowed(func(name string) string { return shelltext.Value(s.options.Env, name) })
}

// firstLines passes on the first lines of a text.
type firstLines struct {
	w    io.Writer
	mark shelltext.LineLimit
	sent int64
}

func (f *firstLines) Write(p []byte) (int, error) {
	at, over := f.mark.Feed(p)
	if over {
		p = p[:max(0, at-f.sent)]
	}
	f.sent += int64(len(p))
	n, err := f.w.Write(p)
	if err == nil && over {
		err = errHeadComplete
	}
	return n, err
}

// captureText returns what is shown of an output that the node does not have.
func (s *Session) captureText(text string, head int) Captured {
	w := s.window()
	clean := s.cleaner(w, head)
	if _, err := clean.Write([]byte(text)); err == nil {
		_ = clean.Close() // a TailBuffer accepts everything
	}
	return summary(w.Close(""))
}

// shown returns a whole output, minimized if possible.
func (s *Session) shown(f *activeRun, text string, e ended) Captured {
	if s.minimizes(f, e) {
		short, info := minimize.Minimize(f.command, text, e.code, s.options.Settings.Minimizer)
		if info.Changed {
			f.updates.say(artifact.TailOf(text, artifact.Limits{Bytes: window}).Text) // updates are raw, including the last one
			return s.minimized(text, short, info)
		}
	}
	w := s.window()
	_, _ = io.WriteString(w, text) // a TailBuffer accepts everything
	return summary(w.Close(""))
}

// minimizes reports whether the minimizer may change the output of a command. Limits stand
// for pipes, and the input of a pipe is not rewritten.
func (s *Session) minimizes(f *activeRun, e ended) bool {
	return s.options.Settings.Minimizer.Enabled && e.how == exited && !f.limits.any() && !f.pty
}

func (s *Session) maxCapture() int {
	if most := s.options.Settings.Minimizer.MaxCaptureBytes; most > 0 {
		return most
	}
	return minimize.DefaultMaxCapture
}

// minimized returns the short text. The raw one becomes an artifact of its own, if possible
// . The counts are those of the raw text.
func (s *Session) minimized(raw, short string, info minimize.Info) Captured {
	s.options.Log.Debug("an output was minimized", "filter", info.Label, "input_bytes", info.InputBytes, "output_bytes", info.OutputBytes)
	w := artifact.NewTailBuffer(window, nil)
	_, _ = io.WriteString(w, short) // a TailBuffer accepts everything
	c := summary(w.Close(""))
	c.TotalBytes, c.TotalLines, c.Minimized = int64(len(raw)), lines(raw), true
	if c.RawID = s.save(artifact.ToolBashOriginal, raw); c.Truncated {
		c.ArtifactID = c.RawID
	}
	return c
}

// save makes an artifact of a text and returns its id, "" after an error.
func (s *Session) save(tool, text string) string {
	if s.options.Files == nil {
		return ""
	}
	file, err := s.options.Files.Create(tool)
	if err == nil {
		if _, err = io.WriteString(file, text); err == nil {
			err = file.Close()
		}
		if err != nil {
			file.Discard()
		}
	}
	if err != nil {
		s.options.Log.Warn("no artifact could be made", "error", err)
		return ""
	}
	return file.ID
}

// The bounds of Net, with the defaults of tools.artifactSpillThreshold, tools.artifactTailBytes
// and tools.artifactTailLines.
const (
	spillThreshold = 50 << 10
	spillTailBytes = 20 << 10
	spillTailLines = 500
)

// Net bounds the text of any result. A text of more than 50 KB becomes an artifact, and its
// end is shown. A result that already names an artifact stays unchanged.
func (s *Session) Net(r dialect.Result) dialect.Result {
	if d, ok := r.Details.(*Details); ok && d.Meta != nil && d.Meta.Truncation != nil && d.Meta.Truncation.ArtifactID != "" {
		return r
	}
	if len(r.Text) <= spillThreshold {
		return r
	}
	cut := artifact.TailOf(r.Text, artifact.Limits{Lines: spillTailLines, Bytes: spillTailBytes})
	if id := s.save(artifact.ToolAsync, r.Text); id != "" {
		r.Text = blocks(cut.Text, fmt.Sprintf(textSpilled, size(int64(len(cut.Text))), size(int64(len(r.Text))), id))
	} else {
		r.Text = blocks(cut.Text, fmt.Sprintf(textSpilledNoFile, size(int64(len(cut.Text))), size(int64(len(r.Text)))))
	}
	return r
}
