// Package view makes bounded, read-only looks at a log, as text: its tail, its
// head and tail, a page of lines, a range of bytes, two streams in one. A view
// never holds more than it was asked for, whatever the log holds: runes are
// never cut, bytes that are no UTF-8 become U+FFFD, a gap is a line of text and
// never NULs. Each view says which part of the log it shows.
//
// A view is made from what the log holds when it is asked for; the log may be
// growing, moving or losing its middle meanwhile.
package view

import (
	"errors"
	"strings"

	"troupe/spill"
)

// Bounds of a view.
const (
	// DefaultBytes is the window of a view that names none.
	DefaultBytes = 51_200

	// MaxBytes is the largest window. A line that is longer is shown in part.
	MaxBytes = 1 << 20
)

// Style says how much of a terminal's language is left in the text.
type Style uint8

// The styles.
const (
	Verbatim Style = iota // all of it
	Plain                 // none: for whoever shows the text on a terminal or to a model
	Coloured              // none but colours and the like (SGR)
)

// Options shape every view.
type Options struct {
	Bytes int // at most so many bytes of text, but for the lines that tell what is missing; 0: DefaultBytes
	Style Style
}

// window is the number of bytes the options allow.
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

// Part names what of a log a view shows.
type Part string

// The parts.
const (
	All       Part = "all"
	Beginning Part = "beginning"
	Middle    Part = "middle"
	End       Part = "end"
	Ends      Part = "ends" // the beginning and the end
)

// Kind tells the spans of a view apart.
type Kind uint8

// The kinds.
const (
	Shown   Kind = iota // text of the log
	Missing             // a gap: the bytes were not kept
	Omitted             // the bytes are there, the view leaves them out
)

// Span is a stretch of a log and the text that stands for it.
type Span struct {
	Kind     Kind
	Stream   uint8 // of an interleaved view
	From, To int64
	Text     string
}

// View is what is shown.
type View struct {
	Text      string // all spans, one after the other
	Spans     []Span
	From, To  int64 // the bytes from the first shown to the last
	Line      int64 // the number of the first line shown, from 1; 0 when it is not known
	Bytes     int64 // of the whole log
	Part      Part
	Truncated bool // something of the log is not shown
	Cut       bool // the first or the last line shown is not whole
	Closed    bool // no byte follows

	toEnd bool // what follows To in the log is left to the next view
}

// Gaps are the ranges within the view that were not kept.
func (v View) Gaps() []spill.Gap {
	var out []spill.Gap
	for _, s := range v.Spans {
		if s.Kind == Missing {
			out = append(out, spill.Gap{From: s.From, To: s.To})
		}
	}
	return out
}

// ErrUncounted says that a page was asked for by a line that is not counted
// yet: advance the Lines and ask again.
var ErrUncounted = errors.New("the lines of the output are still being counted; ask again")

// finish joins the spans and says what part of the log they are.
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
