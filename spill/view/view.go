package view

import (
	"errors"
	"strings"

	"troupe/spill"
)

// Bounds of a view.
const (
	// DefaultBytes is the default window.
	DefaultBytes = 51_200

	// MaxBytes is the largest window. A longer line is shown in part.
	MaxBytes = 1 << 20
)

// Style selects which terminal sequences stay in the text.
type Style uint8

// The styles.
const (
	Verbatim Style = iota // all
	Plain                 // none, for display on a terminal or to a model
	Coloured              // only colours and other attributes (SGR)
	Final                 // none; each line as a terminal shows it in the end, see Cleaner
)

// Options are common to all views.
type Options struct {
	Bytes int // largest size of the text without the lines for missing bytes; 0: DefaultBytes
	Style Style
	Cols  int // width of the terminal, for Final; 0: no terminal
}

// window returns the number of bytes that the options allow.
func (o Options) window() int64 {
	n := int64(DefaultBytes)
	if o.Bytes > 0 {
		n = int64(min(o.Bytes, MaxBytes))
	}
	if o.Style == Coloured {
		n = max(0, n-int64(len(resetSGR)))
	}
	return n
}

// Part names the part of a log that a view shows.
type Part string

// The parts.
const (
	All       Part = "all"
	Beginning Part = "beginning"
	Middle    Part = "middle"
	End       Part = "end"
	Ends      Part = "ends" // the beginning and the end
)

// Kind distinguishes the spans of a view.
type Kind uint8

// The kinds.
const (
	Shown   Kind = iota // text of the log
	Missing             // a gap: the bytes were not kept
	Omitted             // the log has the bytes, the view leaves them out
)

// Span is a range of a log and the text that represents it.
type Span struct {
	Kind     Kind
	Stream   uint8 // stream of the range, in an interleaved view
	From, To int64
	Text     string
}

// View is the text of a part of a log.
type View struct {
	Text      string // text of all spans
	Spans     []Span
	From, To  int64 // range from the first shown byte to the last
	Line      int64 // number of the first line shown, from 1; 0 if unknown
	Bytes     int64 // size of the whole log
	Part      Part
	Truncated bool // a part of the log is not shown
	Cut       bool // the first or the last line shown is incomplete
	Closed    bool // no byte follows

	FullScreen bool // of Final: the alternate screen is shown at the end of the log
	Redrawn    bool // of Plain: the Final text may differ

	toEnd bool // the next view shows what follows To
}

// Gaps returns the ranges within the view that were not kept.
func (v View) Gaps() []spill.Gap {
	var out []spill.Gap
	for _, s := range v.Spans {
		if s.Kind == Missing {
			out = append(out, spill.Gap{From: s.From, To: s.To})
		}
	}
	return out
}

// ErrUncounted reports that a page begins at a line that is not counted yet. Advance
// the LineIndex and ask again.
var ErrUncounted = errors.New("the lines of the output are still being counted; ask again")

// finish joins the spans and sets which part of the log they are.
func (v View) finish(st spill.State) View {
	var b strings.Builder
	for i, s := range v.Spans {
		if s.Kind != Shown && b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			v.Spans[i].Text = "\n" + s.Text
		}
		b.WriteString(v.Spans[i].Text)
		v.Truncated = v.Truncated || s.Kind != Shown
	}
	v.Text = b.String()
	v.Bytes, v.Closed = st.Size, st.Closed
	if n := len(v.Spans); n > 0 {
		v.From, v.To = v.Spans[0].From, v.Spans[n-1].To
	}
	end := v.To >= st.Size || v.toEnd || !st.Closed && st.Size-v.To < maxPartial
	switch {
	case v.From == 0 && end && !v.omits():
		v.Part = All
	case v.From == 0 && end:
		v.Part = Ends
	case v.From == 0:
		v.Part = Beginning
	case end:
		v.Part = End
	default:
		v.Part = Middle
	}
	v.Truncated = v.Truncated || v.Part != All
	return v
}

func (v View) omits() bool {
	for _, s := range v.Spans {
		if s.Kind == Omitted {
			return true
		}
	}
	return false
}
