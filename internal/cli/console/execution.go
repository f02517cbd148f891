package console

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"troupe/internal/dialect"
	"troupe/internal/dialect/codelia"
	"troupe/internal/dialect/omp"
	"troupe/messages"
)

// Limits of what an execution shows of its output.
const (
	collapsedLines = 20
	clampChars     = 4000
	liveLines      = 100
)

// state says how an execution stands.
type state int

const (
	running state = iota
	inBackground
	exited
	cancelled
	failed
)

// execution is one command and what the console shows of it.
type execution struct {
	id      int
	mode    mode
	command string
	job     messages.JobID // "" until known
	task    string         // id of a background job of omp; "": none

	terminal bool // it runs on a terminal, in the overlay
	state    state
	why      string // of failed; how the command ended
	code     *int   // of exited
	millis   int64
	warnings []string

	text     string // the end of the output
	cut      bool   // a part before text is not shown
	expanded bool
	full     string // the whole output, or the end of it if fullCut; of expanded
	fullCut  bool
	loaded   bool

	result *dialect.Result // of the tool
	shown  []string        // the result with its whole output, at shownWidth
	shownW int

	rows  []string // what draw returned for width; nil: changed
	width int
}

// ended reports whether the command has ended.
func (e *execution) ended() bool { return e.state >= exited }

// progressed takes the output so far.
func (e *execution) progressed(text string, cut bool) {
	if e.ended() {
		return
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if more := len(lines) - liveLines; more > 0 {
		lines, cut = lines[more:], true
	}
	e.text, e.cut, e.rows = clean(strings.Join(lines, "\n")), cut, nil
}

// settleBang takes the end of a ! command. Its final output replaces what was shown.
func (e *execution) settleBang(m bangEndedMsg) {
	e.rows = nil
	if m.err != nil {
		e.state, e.why = failed, codelia.ExecFailed(m.err)
		return
	}
	e.text, e.cut, e.millis, e.code = clean(m.text), m.cut, m.result.DurationMS, m.result.ExitCode
	switch {
	case m.result.FailureMessage != "" && m.result.ExitCode == nil:
		e.state, e.why = failed, m.result.FailureMessage
	case m.result.ExitCode == nil:
		e.state = cancelled
	default:
		e.state = exited
	}
	for _, stream := range []struct {
		name, ref string
		cut       bool
	}{{"stdout", m.result.StdoutCacheID, m.result.Truncated.Stdout}, {"stderr", m.result.StderrCacheID, m.result.Truncated.Stderr}} {
		switch {
		case stream.cut && stream.ref != "":
			e.warnings = append(e.warnings, fmt.Sprintf(textCutStream, stream.name, stream.ref))
		case stream.cut:
			e.warnings = append(e.warnings, fmt.Sprintf(textCutStreamGone, stream.name))
		}
	}
}

// settleTool takes the end of a call of the tool, or that its command goes on.
func (e *execution) settleTool(m toolEndedMsg) {
	e.rows = nil
	if aborted, is := errors.AsType[*omp.AbortError](m.err); is {
		e.state, e.text, e.cut = cancelled, clean(aborted.Text), false
		return
	}
	if m.err != nil {
		e.state, e.why = failed, m.err.Error()
		return
	}
	r := m.result
	r.Text = clean(r.Text)
	d, _ := r.Details.(*omp.Details)
	if d != nil && d.Async != nil && d.Async.State == string(omp.JobRunning) {
		e.state, e.task, e.text = inBackground, d.Async.JobID, r.Text
		return
	}
	e.state, e.result = exited, &r
	if r.IsError {
		e.state = failed
	}
}

// progress takes the state of the background job that the command has become.
func (e *execution) progress(r dialect.Result) {
	d, _ := r.Details.(*omp.Details)
	if d == nil || d.Async == nil || e.ended() {
		return
	}
	e.rows = nil
	if d.Async.State == string(omp.JobRunning) {
		e.progressed(r.Text, false)
		return
	}
	r.Text = clean(r.Text)
	e.state, e.result = exited, &r
	if r.IsError {
		e.state = failed
	}
}

// draw returns the rows of the execution.
func (e *execution) draw(width int) []string {
	if e.rows != nil && e.width == width {
		return e.rows
	}
	rows := styled(styleCommand, wrapped(e.mode.sign()+" "+clean(e.command), width)...)
	if e.result != nil {
		rows = append(rows, e.drawResult(width)...)
	} else {
		rows = append(rows, e.drawOutput(width)...)
	}
	for _, w := range e.warnings {
		rows = append(rows, styled(styleWarning, wrapped(w, width)...)...)
	}
	e.rows, e.width = append(rows, e.drawState(width)...), width
	return e.rows
}

// drawResult draws the result of the tool as omp does.
func (e *execution) drawResult(width int) []string {
	if e.expanded && e.shownW == width {
		return e.shown
	}
	return omp.Render(*e.result, omp.View{Width: width, Expanded: e.expanded, ExpandKey: keyExpand})
}

// drawOutput draws the output: all that is loaded if expanded, else its last lines.
func (e *execution) drawOutput(width int) []string {
	text, cut := e.text, e.cut
	if e.expanded && e.loaded {
		text, cut = e.full, e.fullCut
	}
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	hidden := 0
	if !e.expanded {
		hidden = max(0, len(lines)-collapsedLines)
		lines = lines[hidden:]
	}
	var rows []string
	switch {
	case hidden > 0 && cut:
		rows = append(rows, styled(styleDim, fmt.Sprintf(textHiddenMore, hidden, keyExpand))...)
	case hidden > 0:
		rows = append(rows, styled(styleDim, fmt.Sprintf(textHidden, hidden, keyExpand))...)
	case cut && e.expanded:
		rows = append(rows, styled(styleDim, fmt.Sprintf(textFirstMissing, e.job))...)
	case cut:
		rows = append(rows, styled(styleDim, fmt.Sprintf(textHiddenSome, keyExpand))...)
	}
	for _, line := range lines {
		rows = append(rows, wrapped(clamp(line), width)...)
	}
	return rows
}

// clamp cuts a long line, and says how much is left out.
func clamp(line string) string {
	if len(line) <= clampChars {
		return line
	}
	n := utf8.RuneCountInString(line)
	if n <= clampChars {
		return line
	}
	at := 0
	for range clampChars {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return line[:at] + fmt.Sprintf(textClamped, n-clampChars)
}

// drawState draws how the execution stands.
func (e *execution) drawState(width int) []string {
	switch {
	case e.state == running && e.terminal:
		return styled(styleDim, wrapped(textOnTerminal, width)...)
	case e.state == running:
		return styled(styleDim, wrapped(textRunning, width)...)
	case e.state == inBackground:
		return styled(styleDim, wrapped(textInBackground, width)...)
	case e.state == cancelled:
		return styled(styleBad, wrapped(textCancelled, width)...)
	case e.result != nil && e.state == exited:
		return styled(styleGood, wrapped(textDone, width)...)
	case e.result != nil:
		return styled(styleBad, wrapped(textFailedTool, width)...)
	case e.state == failed:
		return styled(styleBad, wrapped("✗ "+clean(e.why), width)...)
	case *e.code == 0:
		return styled(styleGood, wrapped(fmt.Sprintf(textExited, "✓", *e.code, e.millis), width)...)
	}
	return styled(styleBad, wrapped(fmt.Sprintf(textExited, "✗", *e.code, e.millis), width)...)
}

// ending describes the end of a command in one line.
func (e *execution) ending() string {
	switch {
	case e.state == cancelled:
		return textWasCancelled
	case e.state == exited && e.code != nil:
		return fmt.Sprintf(textWasExited, *e.code)
	case e.state == exited:
		return textWasDone
	}
	return textWasFailed
}
