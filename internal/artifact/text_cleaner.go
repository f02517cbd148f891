package artifact

import (
	"bytes"
	"io"

	"troupe/spill/view"
)

// CleanOptions say what is left in a text that models read.
type CleanOptions struct {
	DropCR bool // each CR goes; else CR and CRLF become LF
	Sixel  bool // pictures in SIXEL stay (R-083, see SixelAllowed)
}

// TextCleaner passes a stream of bytes on as text that models read: without escape sequences
// and control characters, in UTF-8, whatever pieces it comes in. Close
// it. It is not safe for concurrent use.
type TextCleaner struct {
	w io.Writer
	o CleanOptions
	c view.Cleaner
	s sixels

	buf []byte
	cut []byte // what is left of a piece without its CRs
}

// NewTextCleaner makes a Clean that writes to w.
func NewTextCleaner(w io.Writer, o CleanOptions) *TextCleaner { return &TextCleaner{w: w, o: o} }

// Write passes p on. An error is that of the writer behind it.
func (c *TextCleaner) Write(p []byte) (int, error) {
	n := len(p)
	c.buf = c.buf[:0]
	for len(p) > 0 { // in parts, so that little is held
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
	if c.o.DropCR && bytes.IndexByte(p, '\r') >= 0 {
		c.cut = c.cut[:0]
		for _, b := range p {
			if b != '\r' {
				c.cut = append(c.cut, b)
			}
		}
		p = c.cut
	}
	if !c.o.Sixel {
		c.buf = c.c.Append(c.buf, p)
		return
	}
	c.s.split(p, c.text, c.picture)
}

func (c *TextCleaner) text(p []byte) { c.buf = c.c.Append(c.buf, p) }

// picture passes a whole sequence on. What it interrupts is at its end, as it would
// be on a terminal.
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

// Close passes on what was held back. It does not close the writer behind it.
func (c *TextCleaner) Close() error {
	c.s.end(c.text)
	c.buf = c.c.End(c.buf)
	return c.flush()
}

// CleanText is s as a text that models read.
func CleanText(s string, o CleanOptions) string {
	var b bytes.Buffer
	c := NewTextCleaner(&b, o)
	_, _ = c.Write([]byte(s)) // a Buffer takes all
	_ = c.Close()
	return b.String()
}

// SixelAllowed says whether a user wants pictures in SIXEL left in: both names are set
// in the environment that lookup knows, the first to sixel.
func SixelAllowed(lookup func(name string) string) bool {
	return lookup("PI_FORCE_IMAGE_PROTOCOL") == "sixel" && lookup("PI_ALLOW_SIXEL_PASSTHROUGH") != ""
}
