package artifact

import "unicode/utf8"

// maxPartial is the largest length of an incomplete rune, in bytes.
const maxPartial = utf8.UTFMax - 1

// alignFrom returns the first index from i on where a rune may begin.
func alignFrom(p []byte, i int) int {
	for n := 0; n < maxPartial && i < len(p) && !utf8.RuneStart(p[i]); n++ {
		i++
	}
	return i
}

// wholeTo returns the length of p without an incomplete rune at its end.
func wholeTo(p []byte) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-maxPartial; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}

// text returns p as UTF-8; U+FFFD replaces each invalid byte.
func text(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	return string(appendText(make([]byte, 0, len(p)+len(p)/4), p))
}

func appendText(dst, p []byte) []byte {
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		dst = utf8.AppendRune(dst, r)
		p = p[size:]
	}
	return dst
}

// first returns the longest prefix of s of at most n bytes in whole runes.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(0, n)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// last returns the longest suffix of s of at most n bytes in whole runes.
func last(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := len(s) - max(0, n)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// firstRunes returns the first n runes of s.
func firstRunes(s string, n int) string {
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}

// lastRunes returns the last n runes of s.
func lastRunes(s string, n int) string {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}
