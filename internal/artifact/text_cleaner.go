package artifact

import (
	"bytes"
	"io"

	"troupe/spill/view"
)

// CleanOptions choose what stays in a text for models.
type CleanOptions struct {
	Final bool // each line as a terminal shows it in the end; else CR and CRLF become LF
	Cols  int  // width of the terminal, for Final; 0: none
	Sixel bool // keep pictures in SIXEL (R-083, see SixelAllowed); not with Final
}

// TextCleaner writes a stream of bytes as text for models: UTF-8 without escape
// sequences and control characters. Pieces may split anywhere. The
// caller must Close it. It is not safe for concurrent use.
type TextCleaner struct {
	w io.Writer
	o CleanOptions
	c view.Cleaner
	s sixels

	buf []byte
}

// NewTextCleaner returns a TextCleaner that writes to w.
func NewTextCleaner(w io.Writer, o CleanOptions) *TextCleaner {
	return &TextCleaner{w: w, o: o, c: view.Cleaner{Final: o.Final, Cols: o.Cols}}
}

// Write cleans p and writes it to w. Errors come from w.
func (c *TextCleaner) Write(p []byte) (int, error) {
	n := len(p)
	c.buf = c.buf[:0]
	for len(p) > 0 { // small parts bound the buffer
		part := p[:min(len(p), chunk)]
		p = p[len(part):]
		c.add(part)
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (c *TextCleaner) add(p []byte) {
	if !c.o.Sixel {
		c.buf = c.c.Append(c.buf, p)
		return
	}
	c.s.split(p, c.text, c.picture)
}

func (c *TextCleaner) text(p []byte) { c.buf = c.c.Append(c.buf, p) }

// picture passes on a whole sequence. It ends one that is still open, as a terminal
// does.
func (c *TextCleaner) picture(p []byte) {
	c.buf = c.c.Append(c.buf, []byte("\x1b\\"))
	c.buf = append(c.c.End(c.buf), p...)
}

func (c *TextCleaner) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	_, err := c.w.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

// Rest returns what Close would write, such as an incomplete line of Final.
func (c *TextCleaner) Rest() []byte { return c.c.Rest() }

// Flush writes the incomplete line of Final, which cannot be overwritten then.
func (c *TextCleaner) Flush() error {
	c.buf = c.c.Flush(c.buf)
	return c.flush()
}

// FullScreen reports whether the text ends on the alternate screen.
func (c *TextCleaner) FullScreen() bool { return c.c.FullScreen() }

// Close writes what was held back. It does not close w.
func (c *TextCleaner) Close() error {
	c.s.end(c.text)
	c.buf = c.c.End(c.buf)
	return c.flush()
}

// CleanText returns s as text for models.
func CleanText(s string, o CleanOptions) string {
	var b bytes.Buffer
	c := NewTextCleaner(&b, o)
	_, _ = c.Write([]byte(s)) // a Buffer never fails
	_ = c.Close()
	return b.String()
}

// SixelAllowed reports whether pictures in SIXEL stay in the text: the first variable
// is sixel, the second is set.
func SixelAllowed(lookup func(name string) string) bool {
	return lookup("PI_FORCE_IMAGE_PROTOCOL") == "sixel" && lookup("PI_ALLOW_SIXEL_PASSTHROUGH") != ""
}
