package view

import (
	"bytes"
	"errors"
	"io"
)

const (
	// nearSwitch is how many bytes before a view are searched for a switch of screens.
	nearSwitch = 1 << 20

	// farSwitch is the same for the output of a terminal. It covers hours of a program that
	// draws each second, and takes some 10 ms.
	farSwitch = 32 << 20

	// maxSwitch bounds the sequence that switches screens, in bytes.
	maxSwitch = 32
)

// AlternateAt reports whether the output of a terminal leaves it on the alternate screen before
// byte to. known says whether it was shown before byte from.
func AlternateAt(log io.ReaderAt, from, to int64, known bool) (bool, error) {
	on, found, err := searchSwitch(log, max(0, from-maxSwitch, to-farSwitch), to)
	return on || !found && known, err
}

// searchSwitch searches a range backwards for a switch of screens: on is the last one.
func searchSwitch(log io.ReaderAt, first, last int64) (on, found bool, err error) {
	buf := make([]byte, max(0, min(pageChunk+maxSwitch, last-first)))
	for to := last; to > first; {
		from := max(first, to-pageChunk)
		n, err := log.ReadAt(buf[:min(to+maxSwitch, last)-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, false, err
		}
		if _, on, found := Switches(buf[:n]); found {
			return on, true, nil
		}
		to = from
	}
	return false, false, nil
}

// Switches finds the switches of screens in p: whether the first and the last one are to
// the alternate screen.
func Switches(p []byte) (first, on, found bool) {
	for {
		i := bytes.Index(p, []byte("\x1b[?"))
		if i < 0 {
			return first, on, found
		}
		p = p[i+3:]
		to, is := switchOf(p)
		if !is {
			continue
		}
		if !found {
			first = to
		}
		on, found = to, true
	}
}

// switchOf reads a switch of screens without its beginning.
func switchOf(p []byte) (on, is bool) {
	n := bytes.IndexFunc(p[:min(len(p), maxSwitch)], func(r rune) bool { return (r < '0' || r > '9') && r != ';' })
	if n < 0 || p[n] != 'h' && p[n] != 'l' {
		return false, false
	}
	for mode := range bytes.SplitSeq(p[:n], []byte{';'}) {
		switch string(mode) {
		case "47", "1047", "1049":
			is = true
		}
	}
	return p[n] == 'h', is
}

// startsAlternate reports whether the alternate screen is shown before data, which begins at
// byte from. A program that leaves it in data has probably entered it: the search is longer.
func startsAlternate(log io.ReaderAt, from int64, data []byte, o Options) (bool, error) {
	most := int64(nearSwitch)
	if first, _, found := Switches(data); o.Cols > 0 || found && !first {
		most = farSwitch
	}
	on, _, err := searchSwitch(log, max(0, from-most), from)
	return on, err
}
