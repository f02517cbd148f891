package view

import (
	"slices"
	"strings"
	"testing"

	"troupe/spill"
)

// arrive makes two logs and their order of texts that begin with the number of
// their stream.
func arrive(texts ...string) (order []spill.Piece, logs [2]*fake) {
	logs = [2]*fake{{}, {}}
	for _, s := range texts {
		i := s[0] - '1'
		order = append(order, spill.Piece{Stream: spill.Stdout + i, Offset: int64(len(logs[i].data)), Length: int64(len(s) - 1)})
		logs[i].data = append(logs[i].data, s[1:]...)
	}
	return order, logs
}

func TestInterleave(t *testing.T) {
	for name, c := range map[string]struct {
		texts   []string
		bytes   int
		style   Style
		want    string
		part    Part
		change  func([2]*fake)
		unknown int // pieces that the order does not have
	}{
		"nothing":        {nil, 9, Verbatim, "", All, nil, 0},
		"in order":       {[]string{"1out\n", "2err\n", "1more\n"}, 99, Verbatim, "out\nerr\nmore\n", All, nil, 0},
		"the end":        {[]string{"1out\n", "2err\n", "1more\n"}, 7, Verbatim, "r\nmore\n", End, nil, 0},
		"a rune apart":   {[]string{"1a\xe2", "2err", "1\x82\xac"}, 99, Verbatim, "aerr€", All, nil, 0},
		"a colour apart": {[]string{"1a\x1b[3", "2err", "11mb"}, 99, Plain, "aerrb", All, nil, 0},
		"not in the order": {
			[]string{"1out\n", "2err\n", "1more\n", "2late\n"}, 99, Verbatim, "out\nerr\nmore\nlate\n", All, nil, 2,
		},
		"a gap": {
			[]string{"1one....end", "2err"},
			99, Verbatim, "one\n[… 4 bytes not kept …]\nenderr", All,
			func(l [2]*fake) { l[0].gaps = []spill.Gap{{From: 3, To: 7}} }, 0,
		},
		"a rune not whole, live": {
			[]string{"1a\xe2"}, 99, Verbatim, "a", All, func(l [2]*fake) { l[0].open = true }, 0,
		},
		"a rune not whole, at the end": {[]string{"1a\xe2"}, 99, Plain, "a\uFFFD", All, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			order, logs := arrive(c.texts...)
			if c.change != nil {
				c.change(logs)
			}
			order = order[:len(order)-c.unknown]
			v, err := Interleave(slices.Values(order), logs[0], logs[1], Options{Bytes: c.bytes, Style: c.style})
			v = must(t, v, err)
			if v.Text != c.want || v.Part != c.part {
				t.Errorf("got %q (%s), want %q (%s)", v.Text, v.Part, c.want, c.part)
			}
		})
	}
}

// An interleaved view is bounded however often the streams change.
func TestFaultInterleaveIsBounded(t *testing.T) {
	var texts []string
	for range 100_000 {
		texts = append(texts, "1a", "2\xff")
	}
	order, logs := arrive(texts...)
	v, err := Interleave(slices.Values(order), logs[0], logs[1], Options{Bytes: 1000})
	v = must(t, v, err)
	if len(v.Text) > 1000 || !strings.HasSuffix(v.Text, "a\uFFFDa\uFFFD") || v.Part != End || !v.Truncated {
		t.Errorf("%d bytes of text (%s), ending %q", len(v.Text), v.Part, v.Text[max(0, len(v.Text)-9):])
	}
}
