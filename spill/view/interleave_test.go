package view

import (
	"slices"
	"strings"
	"testing"

	"troupe/spill"
)

// arrive makes two logs and their order of texts that begin with the number of
// their stream.
func arrive(texts ...string) (order []spill.Segment, logs [2]*fake) {
	logs = [2]*fake{{}, {}}
	for _, s := range texts {
		i := s[0] - '1'
		order = append(order, spill.Segment{Stream: spill.Stdout + i, Offset: int64(len(logs[i].data)), Length: int64(len(s) - 1)})
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
			v, err := Interleave(slices.Values(order), logs[0], logs[1], [2]int64{}, Options{Bytes: c.bytes, Style: c.style})
			v = must(t, v, err)
			if v.Text != c.want || v.Part != c.part {
				t.Errorf("got %q (%s), want %q (%s)", v.Text, v.Part, c.want, c.part)
			}
		})
	}
}

// What is behind a byte of each stream is all there is; a rune or a sequence that this
// byte is within belongs to what is not shown.
func TestInterleaveBehind(t *testing.T) {
	order, logs := arrive("1out\n", "2err\n", "1\xe2\x82\xac more\n", "2\x1b[31mred\n", "1end\n")
	for name, c := range map[string]struct {
		behind [2]int64
		known  int // pieces that the order has
		want   string
	}{
		"nothing yet":      {[2]int64{0, 0}, 5, "out\nerr\n€ more\nred\nend\n"},
		"the first":        {[2]int64{4, 4}, 5, "€ more\nred\nend\n"},
		"within":           {[2]int64{5, 6}, 5, " more\nred\nend\n"},
		"not in the order": {[2]int64{4, 4}, 0, "€ more\nend\nred\n"},
		"all":              {[2]int64{17, 13}, 5, ""},
		"more than all":    {[2]int64{99, 99}, 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Interleave(slices.Values(order[:c.known]), logs[0], logs[1], c.behind, Options{Style: Plain})
			v = must(t, v, err)
			if v.Text != c.want || v.Truncated || v.Bytes != 30 {
				t.Errorf("got %q of %d bytes (%v), want %q", v.Text, v.Bytes, v.Truncated, c.want)
			}
		})
	}
	v, err := Interleave(slices.Values(order), logs[0], logs[1], [2]int64{4, 4}, Options{Bytes: 8})
	if v = must(t, v, err); v.Text != "red\nend\n" || !v.Truncated {
		t.Errorf("got %q (%v)", v.Text, v.Truncated)
	}
}

// An interleaved view is bounded however often the streams change.
func TestFaultInterleaveIsBounded(t *testing.T) {
	var texts []string
	for range 100_000 {
		texts = append(texts, "1a", "2\xff")
	}
	order, logs := arrive(texts...)
	v, err := Interleave(slices.Values(order), logs[0], logs[1], [2]int64{}, Options{Bytes: 1000})
	v = must(t, v, err)
	if len(v.Text) > 1000 || !strings.HasSuffix(v.Text, "a\uFFFDa\uFFFD") || v.Part != End || !v.Truncated {
		t.Errorf("%d bytes of text (%s), ending %q", len(v.Text), v.Part, v.Text[max(0, len(v.Text)-9):])
	}
}
