package artifact

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// maxCluster bounds a character, in bytes. A longer one, such as a letter with a
// thousand accents, counts as several.
const maxCluster = 1 << 10

// clusterLen returns the length of the first character of p, in bytes. p is longer than
// maxCluster, or the rest of a line.
func clusterLen(p []byte) int {
	if n := plainLen(p); n > 0 {
		return n
	}
	if len(p) > maxCluster {
		p = p[:wholeTo(p[:maxCluster])]
	}
	cluster, _, _, _ := uniseg.FirstGraphemeCluster(p, -1)
	return len(cluster)
}

// plainLen returns the length of the first rune of p if the next rune certainly begins
// another character; else 0.
func plainLen(p []byte) int {
	n := plainRune(p)
	if n == 0 || n == len(p) || plainRune(p[n:]) > 0 {
		return n
	}
	return 0
}

// plainRune returns the length of the first rune of p, in bytes. It returns 0 if that
// rune might join a neighbour. A CR counts as plain, since lines have no LF.
func plainRune(p []byte) int {
	if p[0] < utf8.RuneSelf {
		return 1
	}
	r, size := utf8.DecodeRune(p)
	if plain(r) {
		return size
	}
	return 0
}

// plain reports whether r belongs to a large block of letters that never join others:
// Latin, Greek, Cyrillic, Kana, Han.
func plain(r rune) bool {
	switch {
	case r >= 0xc0 && r <= 0x2ff, r >= 0x370 && r <= 0x3ff, r >= 0x400 && r <= 0x482,
		r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30fa, r >= 0x4e00 && r <= 0x9fff:
		return true
	}
	return false
}

// asciiRun returns how many of the first bytes of p are certainly one character each.
func asciiRun(p []byte) int {
	n := 0
	for len(p)-n >= 8 && binary.LittleEndian.Uint64(p[n:])&0x8080808080808080 == 0 {
		n += 8
	}
	for n < len(p) && p[n] < utf8.RuneSelf {
		n++
	}
	if n < len(p) {
		return max(0, n-1) // a later rune may join the one before it
	}
	return n
}

// clusters iterates over the characters of one line.
type clusters struct {
	c     *cursor
	count int64 // characters taken so far

	p    []byte // next bytes of the line
	ends bool   // p is the rest of the line
	skip int    // bytes of the line ending after p
	done bool   // no character is left
	got  bool   // p was read at least once
}

func newClusters(c *cursor) *clusters { return &clusters{c: c} }

// more loads the next characters; false means that the line has ended.
func (k *clusters) more() (bool, error) {
	if len(k.p) > maxCluster || k.ends && len(k.p) > 0 {
		return true, nil
	}
	if k.done || k.ends && k.got {
		k.done = true
		return false, nil
	}
	var err error
	k.p, k.ends, k.skip, err = k.c.lineWindow(maxCluster)
	k.got = true
	if err == nil && len(k.p) == 0 {
		k.done = true
	}
	return !k.done, err
}

func (k *clusters) take(n int, count int64) {
	k.p = k.p[n:]
	k.count += count
	k.c.advance(n)
}

// pass skips characters until the count or the file offset is reached, or the line
// ends.
func (k *clusters) pass(count, off int64) error {
	for k.count < count && k.c.off < off {
		ok, err := k.more()
		if !ok {
			return err
		}
		n := asciiRun(k.p)
		if n == len(k.p) && !k.ends {
			n-- // the next byte may join it
		}
		if n := min(int64(n), count-k.count, off-k.c.off); n > 1 {
			k.take(int(n), n)
			continue
		}
		k.take(clusterLen(k.p), 1)
	}
	return nil
}

// read returns characters until the count is reached, room bytes are used, or the line
// ends.
func (k *clusters) read(count int64, room int) ([]byte, error) {
	var out []byte
	for k.count < count {
		ok, err := k.more()
		if !ok {
			return out, err
		}
		was, n := len(out), clusterLen(k.p)
		if out = appendText(out, k.p[:n]); len(out) > room {
			return out[:was], nil
		}
		k.take(n, 1)
	}
	return out, nil
}

// over reports whether no character follows.
func (k *clusters) over() (bool, error) {
	ok, err := k.more()
	return !ok, err
}

// leave moves past the line and reports whether a newline ended it.
func (k *clusters) leave() (bool, error) {
	if k.done {
		k.c.advance(k.skip)
		return k.skip > 0, nil
	}
	return k.c.skipLine()
}
