package logs

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// castVersion is the version of asciicast that recorders of today write.
const castVersion = 3

// castHeader is the first line of an asciicast.
type castHeader struct {
	Version   int      `json:"version"`
	Term      castTerm `json:"term"`
	Timestamp int64    `json:"timestamp,omitzero"` // of the start, in Unix seconds
	Command   string   `json:"command,omitzero"`
	Title     string   `json:"title,omitzero"`
}

type castTerm struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// castRows and castCols are the size of a job without a terminal.
const castRows, castCols = 24, 80

// Codes of the events of an asciicast.
const (
	castOutput = "o"
	castMarker = "m"
	castExit   = "x"
)

// printCast prints a job as an asciicast: its output as it is now, with the times that are known,
// and its exit status.
func printCast(a *connect.Command, j source, printers []*Printer, to io.Writer) error {
	found, err := host.Ask(a.Ctx, a.Host(), messages.FindJob{Job: j.uid})
	if err != nil {
		return err
	}
	what := client.RangeBoth{From: map[messages.Stream]int64{}, Times: true, Gaps: true}
	for _, stream := range j.streams {
		what.From[stream] = 0
	}
	w := newCastWriter(to, found.Job)
	if err := w.header(found.Job); err != nil {
		return &out.OutputError{Err: err}
	}
	gaps, err := a.OutputBoth(a.Ctx, j.uid, what, func(part client.Arrived) error {
		if err := w.part(part); err != nil {
			return &out.OutputError{Err: err}
		}
		return nil
	})
	if werr := w.end(found.Job, err == nil); werr != nil && err == nil {
		return &out.OutputError{Err: werr}
	}
	if err != nil {
		return leftEarly(err)
	}
	printers[0].PrintGaps(gaps)
	return nil
}

// castWriter writes the events of an asciicast. Its memory is that of one part of the output.
type castWriter struct {
	to       *bufio.Writer
	began    time.Time
	at       time.Duration // of the last event, since began
	terminal bool          // the job has one, which has translated its newlines
	texts    map[messages.Stream]*castText
}

func newCastWriter(to io.Writer, job messages.Record) *castWriter {
	return &castWriter{to: bufio.NewWriter(to), began: castStart(job), terminal: job.Terminal.Rows > 0, texts: map[messages.Stream]*castText{}}
}

// castStart returns when a job began; one that waits for its start began with its request.
func castStart(job messages.Record) time.Time {
	if job.Started.IsZero() {
		return job.Created
	}
	return job.Started
}

func (w *castWriter) header(job messages.Record) error {
	h := castHeader{
		Version: castVersion, Term: castTerm{Cols: castCols, Rows: castRows}, Timestamp: w.began.Unix(),
		Command: strings.ToValidUTF8(job.Command, "\uFFFD"), Title: cmp.Or(job.Description, job.Name),
	}
	if w.terminal {
		h.Term = castTerm{Cols: job.Terminal.Cols, Rows: job.Terminal.Rows}
	}
	h.Title = cmp.Or(h.Title, h.Command)
	return out.WriteJSON(w.to, h)
}

// part writes a part of the output, or a gap in it.
func (w *castWriter) part(part client.Arrived) error {
	text := w.texts[part.Stream]
	if text == nil {
		text = &castText{newlines: !w.terminal}
		w.texts[part.Stream] = text
	}
	if !part.At.IsZero() {
		text.at = part.At.Sub(w.began)
	}
	if lost := part.Gap.To - part.Gap.From; lost > 0 {
		label := humanize.IBytes(uint64(lost)) + " of the output were not kept"
		return firstError(w.event(text.at, castOutput, text.rest()), w.event(text.at, castMarker, label))
	}
	return w.event(text.at, castOutput, text.add(part.Bytes))
}

// end writes what is left of the output and, of a job that has ended, its exit status. A job that
// is lost has none.
func (w *castWriter) end(job messages.Record, complete bool) error {
	var err error
	for _, stream := range []messages.Stream{messages.Merged, messages.Stdout, messages.Stderr} {
		if text := w.texts[stream]; text != nil {
			err = firstError(err, w.event(w.at, castOutput, text.rest()))
		}
	}
	if complete && job.State.Ended() && job.End.Outcome != messages.Lost {
		err = firstError(err, w.event(job.End.At.Sub(w.began), castExit, strconv.Itoa(job.ExitCode())))
	}
	return firstError(err, w.to.Flush())
}

// event writes one event. Its time is never before that of the event before: a time of output is
// up to a second early.
func (w *castWriter) event(at time.Duration, code, data string) error {
	if data == "" && code == castOutput {
		return nil
	}
	interval := max(at-w.at, 0).Truncate(time.Millisecond)
	w.at += interval
	seconds := json.Number(fmt.Sprintf("%d.%03d", interval/time.Second, interval%time.Second/time.Millisecond))
	return out.WriteJSON(w.to, []any{seconds, code, data})
}

// castText makes text of the bytes of one stream.
type castText struct {
	newlines bool          // each becomes CR LF, as a terminal shows it
	at       time.Duration // of the last bytes, since the start
	cut      []byte        // beginning of a rune at the end of the bytes
}

// add returns the text of further bytes. Bytes that are not UTF-8 are U+FFFD.
func (t *castText) add(b []byte) string {
	if len(t.cut) > 0 {
		b = append(t.cut, b...)
	}
	var text strings.Builder
	text.Grow(len(b))
	for len(b) > 0 && utf8.FullRune(b) {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size == 1:
			size = invalidPart(b)
			text.WriteRune(utf8.RuneError)
		case r == '\n' && t.newlines:
			text.WriteString("\r\n")
		default:
			text.Write(b[:size])
		}
		b = b[size:]
	}
	t.cut = append([]byte(nil), b...)
	return text.String()
}

// rest returns the text of a rune that nothing completes.
func (t *castText) rest() string {
	if len(t.cut) == 0 {
		return ""
	}
	t.cut = nil
	return "\uFFFD"
}

// invalidPart returns how many bytes one U+FFFD replaces: those that began a rune together, else one.
func invalidPart(b []byte) int {
	n := 1
	for n < len(b) && !utf8.FullRune(b[:n]) && !utf8.FullRune(b[:n+1]) {
		n++
	}
	return n
}

// firstError returns the first error that is not nil. Its arguments are evaluated before.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkCast rejects flags that do not go with --cast.
func (f *Flags) checkCast(given func(string) bool, asJSON bool) error {
	if !f.Cast {
		return nil
	}
	if asJSON {
		return messages.Invalid("cast", "--cast and --json contradict each other: a cast has a JSON text on each line; give one of them")
	}
	for _, name := range []string{"follow", "grep", "timestamps", "lines", "tail", "head", "offset", "limit", "since", "raw"} {
		if given(name) {
			return messages.Invalid("cast", "--cast and --"+name+" contradict each other: a cast is the whole output as it is now, with its times; give one of them")
		}
	}
	return nil
}
