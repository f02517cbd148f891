package spill

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const testNonce = "0123456789abcdef"

// fences are all that a fence can be, with # for a digit.
func fences(nonce string) []string {
	var all []string
	for n := 1; n <= fenceDigits; n++ {
		all = append(all, "\x1b]133;D;"+strings.Repeat("#", n)+";"+nonce+"\a")
	}
	return all
}

// begins reports whether a text is the beginning of what a fence can be, or all of it.
func begins(text []byte, fence string) bool {
	if len(text) > len(fence) {
		return false
	}
	for i, c := range text {
		if fence[i] != c && !(fence[i] == '#' && '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// shown is what search promises, found another way: how much is visible, and whether
// there is a fence.
func shown(text []byte, nonce string) (upTo int, whole bool) {
	there := regexp.MustCompile(`\x1b\]133;D;[0-9]{1,3};`+nonce+`\a`).FindAllIndex(text, -1)
	if len(there) > 0 {
		return there[len(there)-1][0], true
	}
	upTo = len(text)
	for i := len(text) - 1; i >= 0; i-- {
		for _, f := range fences(nonce) {
			if begins(text[i:], f) {
				upTo = i
			}
		}
	}
	return upTo, false
}

// nearFences draws a text in which there is much that is nearly a fence.
func nearFences(t *rapid.T) []byte {
	some := rapid.SampledFrom([]string{
		"\x1b", "]", "133;D;", "\x1b]133;D;", "\x1b]133;D;0;", "7", "12", "1234", ";", testNonce, testNonce[:9], "\a", "\x1b]133;C;",
		"\x1b]133;D;0;" + testNonce, "\x1b]133;D;130;" + testNonce + "\a", "\x1b]133;D;1;fedcba9876543210\a", "text\r\n", "\x00",
	})
	return []byte(strings.Join(rapid.SliceOfN(some, 0, 12).Draw(t, "pieces"), ""))
}

// What may be the beginning of a fence is hidden, all of it and nothing else.
func TestFenceIsHidden(t *testing.T) {
	rounds(t, 2000, 50_000)
	rapid.Check(t, func(t *rapid.T) {
		p := nearFences(t)
		s := fenceState{fence: testNonce}
		err := s.search(bytes.NewReader(p), int64(len(p)))
		want, there := shown(p, testNonce)
		if err != nil || s.visible() != int64(want) || (s.last.To > 0) != there {
			t.Fatalf("%q: %+v %v, want %d %v", p, s, err, want, there)
		}
	})
}

// However a fence comes, byte by byte or at once, nothing of it is ever shown, and all
// before it is, in the end.
func TestFenceIsHiddenAsItComes(t *testing.T) {
	d := newDisk(t)
	n := 0
	rounds(t, 200, 5000)
	rapid.Check(t, func(t *rapid.T) {
		n++
		id := "j" + strconv.Itoa(n)
		made, err := d.Create(id, Merged, Plan{Inline: rapid.SampledFrom([]int64{0, -1, 20}).Draw(t, "inline")})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Remove(id)
		w := made.(*writer)
		w.SetFence(testNonce)
		before, _ := shown(nearFences(t), testNonce)
		head := []byte(strings.Repeat("z", before))
		if rapid.Bool().Draw(t, "nearly") {
			head = append(head, "\x1b]133;D;0;"+testNonce[:15]+"\x1b]133"...)
		}
		all := append(bytes.Clone(head), "\x1b]133;D;7;"+testNonce+"\alate"...)
		for rest := all; len(rest) > 0; {
			k := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
			if _, err := w.Append(rest[:k]); err != nil {
				t.Fatal(err)
			}
			rest = rest[k:]
			st := w.State()
			p := make([]byte, len(all)+1)
			got, err := d.jobs[id].logs[Merged].readAt(p, 0)
			if err != io.EOF || int64(got) != st.Size || st.Size > int64(len(head)) || !st.Veiled || !bytes.Equal(p[:got], head[:got]) {
				t.Fatalf("of %q %q is shown, the size %+v, %v", all[:len(all)-len(rest)], p[:got], st, err)
			}
		}
		if st := w.State(); st.Size != int64(len(head)) {
			t.Fatalf("of %q only %d bytes are shown", all, st.Size)
		}
		at, ok, err := w.Fence()
		if err != nil || !ok || at.From != int64(len(head)) || at.To != int64(len(all)-len("late")) {
			t.Fatalf("the fence of %q: %v, %v, %v", all, at, ok, err)
		}
		if err := w.Seal(); err != nil {
			t.Fatal(err)
		}
		if st := w.State(); st.Size != int64(len(all)) || st.Veiled {
			t.Fatalf("sealed: %+v", st)
		}
	})
}

// The last fence counts, however much follows it, and wherever it is: across the borders
// of what is read at a time, too.
func TestFenceIsFound(t *testing.T) {
	mark := "\x1b]133;D;0;" + testNonce + "\a"
	for behind := range 3 * len(mark) {
		for _, far := range []int{0, fenceWindow - 2*len(mark), 3*fenceWindow - 2*len(mark), 200 * fenceWindow} {
			p := []byte(mark + strings.Repeat(".", 2*fenceWindow) + mark + strings.Repeat("\x1b]133;D;", (behind+far)/8) + strings.Repeat("-", (behind+far)%8))
			s := fenceState{fence: testNonce}
			err := s.search(bytes.NewReader(p), int64(len(p)))
			if want := int64(len(mark) + 2*fenceWindow); err != nil || s.last.From != want || s.last.To != want+int64(len(mark)) {
				t.Fatalf("%d bytes behind it: %+v, %v", behind+far, s, err)
			}
		}
	}
	gone := errors.New("gone")
	if err := (&fenceState{fence: testNonce}).search(unreadable{gone}, 10); !errors.Is(err, gone) {
		t.Errorf("an error: %v", err)
	}
	if err := (&fenceState{fence: testNonce}).search(unreadable{io.EOF}, 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a log that is too short: %v", err)
	}
}

type unreadable struct{ err error }

func (u unreadable) ReadAt([]byte, int64) (int, error) { return 0, u.err }
