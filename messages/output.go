package messages

import (
	"fmt"
	"time"
)

// The output conversation: a client reads what a job has written. The sink of a live job
// answers, or the node's archive sink for a retired job.
//
//	client --ReadOutput--> … --> sink --OutputPage | RequestRejected--> client
//	client --FollowOutput--> … --> sink --OutputGrew | OutputEnded | RequestRejected--> client
//
// FollowOutput is one credit: it is answered once, as soon as the log is larger than From.
// Output bytes do not travel by message: a follower reads the log itself.

// ReadOutput asks for one view of one stream, or for the end of Both.
type ReadOutput struct {
	quiet
	Job    JobID `json:"-" path:"id"`
	Stream Stream
	View   View
	After  [2]int64 // of Both: bytes of stdout and of stderr that are not shown
	Plain  bool     // without terminal control sequences
	Final  bool     // plain, and each line as a terminal shows it in the end; without the alternate screen
}

// ViewKind is the shape of a view.
type ViewKind string

// The kinds.
const (
	ViewTail     ViewKind = "tail"      // the last Bytes, in whole runes
	ViewTailLine ViewKind = "tail_line" // the last Lines, at most Bytes
	ViewHeadTail ViewKind = "head_tail" // the first and last Lines, at most Bytes together
	ViewPage     ViewKind = "page"      // Lines from line Offset, counted from 1
	ViewRange    ViewKind = "range"     // Bytes from byte Offset, raw in Data
	ViewSize     ViewKind = "size"      // only the counts
	ViewMatches  ViewKind = "matches"   // the lines that match Pattern, from Cursor on, at most Bytes
)

// View is a bounded excerpt of a log. Bytes 0 means 51,200.
type View struct {
	Kind   ViewKind
	Offset int64
	Lines  int
	Bytes  int

	Pattern string // of ViewMatches: RE2, for each line by itself
	Context int    // lines around each match
	Times   bool   // the time of each line before its text
	Cursor  string // OutputPage.Next of the page before; "": from the beginning
}

// MaxContext bounds View.Context.
const MaxContext = 1000

// CheckMatches returns the error of an invalid view of matches.
func (v View) CheckMatches() *Error {
	switch {
	case v.Context < 0 || v.Context > MaxContext:
		return Invalid("context", fmt.Sprintf("context is %d; it must be from 0 to %d", v.Context, MaxContext))
	case v.Bytes < 0 || v.Bytes > MaxViewBytes:
		return Invalid("bytes", fmt.Sprintf("bytes is %d; it must be from 0 to %d", v.Bytes, MaxViewBytes))
	}
	return nil
}

// MaxViewBytes bounds the bytes of one OutputPage.
const MaxViewBytes = 1 << 20

// OutputPage is one view.
type OutputPage struct {
	quiet
	V          Version     `json:"v" cbor:"-"`
	Job        JobID       `json:"job"`
	Stream     Stream      `json:"stream"`
	Text       string      `json:"text"` // of a text view
	Data       []byte      `json:"-"`    // of ViewRange
	From       int64       `json:"from"` // range of the log that was read
	To         int64       `json:"to"`
	Line       int64       `json:"line"`  // number of its first line, from 1; 0: unknown
	Bytes      int64       `json:"bytes"` // of the whole log
	Lines      int64       `json:"-"`     // of the whole log; an unterminated last line counts
	LinesExact bool        `json:"lines_exact"`
	Truncated  bool        `json:"truncated"` // a part of the log is not shown
	Gaps       []OutputGap `json:"gaps"`
	Closed     bool        `json:"closed"`               // the log is sealed
	FullScreen bool        `json:"full_screen,omitzero"` // of a final text: the log ends on the alternate screen
	Matches    int         `json:"matches,omitzero"`     // lines of a view of matches that match
	Next       string      `json:"next,omitzero"`        // View.Cursor of the next page of matches; "": this is the last
}

// OutputGap is the range [From, To) of a log, whose bytes were not kept.
type OutputGap struct {
	From int64 `json:"from" cbor:"1,keyasint,omitzero"`
	To   int64 `json:"to" cbor:"2,keyasint,omitzero"`
}

// OutputSegment is the range [From, To) of a stream, which arrived within a second after
// At.
type OutputSegment struct {
	Stream   Stream
	From, To int64
	At       time.Time
}

// ArrivalText returns a time of output as text: RFC 3339 in UTC, to a second. Each has the
// same width, also that of a time that is not known.
func ArrivalText(at time.Time) string {
	if at.IsZero() {
		return fmt.Sprintf("%-20s", "-")
	}
	return at.UTC().Format(time.RFC3339)
}

// FollowOutput asks for one OutputGrew as soon as the log is larger than From.
type FollowOutput struct {
	quiet
	Job    JobID
	Stream Stream
	From   int64
}

// OutputEnded reports that the log is sealed at Size: no byte follows.
type OutputEnded struct {
	quiet
	Stream Stream
	Size   int64
}

// ReadScreen asks for what the job's terminal shows.
type ReadScreen struct {
	quiet
	Job JobID `json:"-" path:"id"`
}

// ScreenText is what a terminal shows.
type ScreenText struct {
	quiet
	V         Version `json:"v" cbor:"-"`
	Job       JobID   `json:"job"`
	Terminal          // its size
	Cursor    `json:"cursor"`
	Alternate bool     `json:"alt"` // the alternate screen is shown, as in an editor
	Title     string   `json:"title"`
	Lines     []string `json:"lines"` // one for each row, without trailing blanks
	Keys      KeyModes `json:"keys"`
	Modes     string   `json:"modes"` // control sequences that give another terminal these modes: screen, keys, mouse
	At        int64    `json:"at"`    // bytes of the output that are drawn
	Bytes     int64    `json:"bytes"` // of the whole output
}

// Cursor is the place of the next character, from 0.
type Cursor struct {
	Row     int  `json:"row"`
	Col     int  `json:"col"`
	Visible bool `json:"visible"` // the program has not hidden it
}

// KeyModes are the modes that a program has set for keys on its terminal. They decide
// which bytes a key sends.
type KeyModes struct {
	Cursor bool `json:"cursor"` // DECCKM: arrows send SS3
	Keypad bool `json:"keypad"` // DECKPAM
	Paste  bool `json:"paste"`  // a pasted text comes in brackets
	Kitty  int  `json:"kitty"`  // flags of the kitty keyboard protocol; 0: the legacy encoding
}

// RequestRejected reports why a request outside the run and control conversations was
// refused.
type RequestRejected struct {
	quiet
	Err Error
}

// Address implements Addressed.
func (r ReadOutput) Address() Address   { return Address{Job: r.Job} }
func (r FollowOutput) Address() Address { return Address{Job: r.Job} }
func (r ReadScreen) Address() Address   { return Address{Job: r.Job} }

// Refuse implements Refusable.
func (ReadOutput) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
func (FollowOutput) Refuse(e *Error) any { return RequestRejected{Err: *e} }
func (ReadScreen) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
