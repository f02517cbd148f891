package opencode

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/internal/artifact"
)

// long describes an output that is not shown whole.
type long struct {
	label string // stdout or stderr
	path  string // of the file with the full output; "": none
	cut   string // size limit of that file, if it cut the output
	ends  artifact.HeadTail
}

// number formats a count for people.
func (s Settings) number(n int64) string {
	if s.PlainNumbers {
		return strconv.FormatInt(n, 10)
	}
	return artifact.Thousands(n)
}

// preview renders a long output. Without a file it shows how many lines are left
// out.
func (s Settings) preview(l long) string {
	var b strings.Builder
	fmt.Fprintf(&b, textTotal+"\n", l.label, s.number(l.ends.Total))
	switch {
	case l.path != "" && l.cut != "":
		fmt.Fprintf(&b, textSavedCut+"\n"+textUseView+"\n", l.path, l.cut)
	case l.path != "":
		fmt.Fprintf(&b, textSaved+"\n"+textUseView+"\n", l.path)
	}
	fmt.Fprintf(&b, "\n"+textFirst+"\n%s\n\n", s.TruncatedHeadLines, unended(l.ends.Head))
	if (l.path == "" || s.GapMarker) && l.ends.Omitted > 0 {
		fmt.Fprintf(&b, textGap+"\n\n", s.number(l.ends.Omitted))
	}
	fmt.Fprintf(&b, textLast+"\n%s", s.TruncatedTailLines, unended(l.ends.Tail))
	return b.String()
}

// plain renders a long output when the settings want no files.
func (s Settings) plain(l long) string {
	if l.ends.Omitted == 0 {
		return l.ends.Head + l.ends.Tail
	}
	return unended(l.ends.Head) + "\n\n" + fmt.Sprintf(textGap, s.number(l.ends.Omitted)) + "\n\n" + l.ends.Tail
}

// wholeBytes bounds a stream that is shown whole.
const wholeBytes = 50 << 10

func unended(s string) string { return strings.TrimSuffix(s, "\n") }

// ends returns how much of the head and tail of an output is shown. An output of few lines
// keeps to the limit of a whole stream. One of many lines may exceed it, but both streams
// together stay below the net.
func (s Settings) ends(total int64) artifact.HeadTailOptions {
	if s.NoFiles {
		return artifact.HeadTailOptions{Head: artifact.PlainLines, Tail: artifact.PlainLines, Bytes: min(wholeBytes, s.share())}
	}
	o := artifact.HeadTailOptions{Head: s.TruncatedHeadLines, Tail: s.TruncatedTailLines, Bytes: s.share()}
	if total <= int64(o.Head+o.Tail) {
		o.Bytes = min(wholeBytes, s.share())
	}
	return o
}

// around bounds the bytes that a result has in addition to the shown lines: markers, the
// path and the end of the command.
const around = 6 << 10

// share returns how many bytes one of two streams may show below the net.
func (s Settings) share() int { return max(1024, (s.net()-2*around)/2) }

func (s Settings) net() int { return s.tokens * 4 }

// caught returns a text cut at a line so that it stays below the net.
func (s Settings) caught(text string) string {
	if len(text) <= s.net() || utf8.RuneCountInString(text) <= s.net() {
		return text
	}
	at := 0
	for range s.net() { // the limit counts characters
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	kept, _ := artifact.CutAtLine(text, at)
	return unended(kept) + textNet
}

// limit formats a size limit, such as 100MB.
func limit(n int64) string {
	if n%(1<<20) == 0 {
		return strconv.FormatInt(n>>20, 10) + "MB"
	}
	return artifact.Thousands(n) + " bytes"
}
