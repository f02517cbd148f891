package messages

import "time"

// The output conversation: a client looks at what a job has written. The sink
// of a live job answers, or that of the node for a job that is retired.
//
//	client --ReadOutput--> … --> sink --OutputPage | RequestRejected--> client
//	client --FollowOutput--> … --> sink --OutputGrew | OutputEnded | RequestRejected--> client
//
// FollowOutput is one credit: it is answered once, as soon as the log is larger
// than From. Bytes do not travel by message: a follower reads the log itself.

// ReadOutput asks for one view of one stream.
type ReadOutput struct {
	quiet
	Job    JobID
	Stream Stream
	View   View
	Plain  bool // without terminal control sequences
}

// ViewKind chooses the shape of a view.
type ViewKind string

// The kinds.
const (
	ViewTail     ViewKind = "tail"      // the last Bytes, whole runes
	ViewTailLine ViewKind = "tail_line" // the last Lines, at most Bytes
	ViewHeadTail ViewKind = "head_tail" // the first and the last Lines, together at most Bytes
	ViewPage     ViewKind = "page"      // Lines from line Offset, counted from 1
	ViewRange    ViewKind = "range"     // Bytes from byte Offset, raw in Data
	ViewSize     ViewKind = "size"      // only the counts
)

// View is a bounded look at a log. Bytes 0 is the default window of 51,200.
type View struct {
	Kind   ViewKind
	Offset int64
	Lines  int
	Bytes  int
}

// MaxViewBytes bounds what one OutputPage carries.
const MaxViewBytes = 1 << 20

// OutputPage is one view.
type OutputPage struct {
	quiet
	Job        JobID
	Stream     Stream
	Text       string // text views
	Data       []byte // ViewRange
	From, To   int64  // the bytes it was made from
	Line       int64  // number of its first line, from 1; 0 when not known
	Bytes      int64  // of the whole log
	Lines      int64  // of the whole log; an unterminated last line counts
	LinesExact bool
	Truncated  bool // something of the log is not shown
	Gaps       []OutputGap
	Closed     bool // no byte follows
}

// OutputGap is a range of a log whose bytes were not kept: [From, To).
type OutputGap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// OutputSegment is a part of a stream that came at one time: the bytes [From, To), within
// a second from At.
type OutputSegment struct {
	Stream   Stream
	From, To int64
	At       time.Time
}

// FollowOutput asks to be told when the log is larger than From.
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
	Job JobID
}

// ScreenText is what a terminal shows.
type ScreenText struct {
	quiet
	Job       JobID
	Lines     []string // one for each row, without the blanks at its end
	Row, Col  int      // of the cursor, from 0
	Visible   bool     // … which the program may hide
	Size      Terminal
	Alternate bool // the alternate screen is shown, as by an editor
	Title     string
	Keys      KeyModes
	Modes     string // what another terminal is told to be one of these modes: its screen, its keys, its mouse
	At        int64  // the byte of the output up to which it is drawn
	Bytes     int64  // of the whole output
}

// KeyModes are what a program has told its terminal about keys: they decide which
// bytes a key sends.
type KeyModes struct {
	Cursor bool // DECCKM: arrows send SS3
	Keypad bool // DECKPAM
	Paste  bool // what is pasted comes in brackets
	Kitty  int  // flags of the kitty keyboard protocol; 0: the keys of always
}

// RequestRejected reports that a request outside the run and control
// conversations could not be answered, and why.
type RequestRejected struct {
	quiet
	Err Error
}

// OutputReply is what a client may receive in answer to an output request.
type OutputReply interface{ outputReply() }

func (OutputPage) outputReply()      {}
func (OutputGrew) outputReply()      {}
func (OutputEnded) outputReply()     {}
func (ScreenText) outputReply()      {}
func (RequestRejected) outputReply() {}

// Address implements Addressed.
func (r ReadOutput) Address() Address   { return Address{Job: r.Job} }
func (r FollowOutput) Address() Address { return Address{Job: r.Job} }
func (r ReadScreen) Address() Address   { return Address{Job: r.Job} }

// Refuse implements Refusable.
func (ReadOutput) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
func (FollowOutput) Refuse(e *Error) any { return RequestRejected{Err: *e} }
func (ReadScreen) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
