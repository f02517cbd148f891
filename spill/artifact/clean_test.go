package artifact

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"troupe/spill"
)

const picture = "\x1bP0;1;0q\"1;1;8;8#0;2;0;0;0#0~~@@vv\x1b\\"

func TestR082_FilesForModelsAreClean(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m\x1b]0;title\x07 text":    "red text",
		"a\x00b\x07c\x08d\x7fe\tf":                     "abcde\tf",
		"\ufff9a\ufffab\ufffb":                         "ab",
		"\xed\xa0\x80":                                 "\uFFFD\uFFFD\uFFFD", // a lone surrogate is no UTF-8
		"one\r\ntwo\rthree\r":                          "one\ntwo\nthree\n",
		"\x1bPq" + strings.Repeat("~", 20) + "\x1b\\x": "x",
	} {
		is(t, "clean", CleanText(in, CleanOptions{}), want)
	}
	is(t, "each CR goes", CleanText("one\r\ntwo\rthree\x1b[3\r1m\r", CleanOptions{DropCR: true}), "one\ntwothree")
}

func TestR083_PicturesStayIfBothNamesAreSet(t *testing.T) {
	env := map[string]string{}
	allowed := func() bool { return SixelAllowed(func(name string) string { return env[name] }) }
	is(t, "none set", allowed(), false)
	env["PI_FORCE_IMAGE_PROTOCOL"] = "sixel"
	is(t, "one set", allowed(), false)
	env["PI_ALLOW_SIXEL_PASSTHROUGH"] = "1"
	is(t, "both set", allowed(), true)
	env["PI_FORCE_IMAGE_PROTOCOL"] = "kitty"
	is(t, "another protocol", allowed(), false)

	text := "\x1b[1ma\r" + picture + "\x1b[mb\x1bPother\x1b\\"
	is(t, "without", CleanText(text, CleanOptions{}), "a\nb")
	is(t, "with", CleanText(text, CleanOptions{Sixel: true}), "a\n"+picture+"b")
	is(t, "a title before it does not swallow what follows",
		CleanText("\x1b]0;x"+picture+"b", CleanOptions{Sixel: true}), picture+"b")
	for _, not := range []string{
		"\x1bP1;1", "\x1bPqa\x07b\x1b\\", "\x1bPq\x1b[31m", "\x1bP\x1b\\", "\x1b\x1b", "\x1bPqé\x1b\\",
		"\x1bPq" + strings.Repeat("~", maxSixel) + "\x1b\\",
	} {
		if got := CleanText(not+"\x1b\\z", CleanOptions{Sixel: true}); strings.Contains(got, "\x1b") {
			t.Errorf("%.20q is taken for a picture: %.20q", not, got)
		}
	}
}

func TestR084_TheStripperKeepsItsState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		more := append([]string{"\x1b[31m", "\x1b", "[", "\x1b]0;t", "\x07", picture, picture[:9], "\x1bP", "q", "\x1b\\", "\u202e"}, pieces...)
		var in strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "pieces") {
			in.WriteString(rapid.SampledFrom(more).Draw(t, "piece"))
		}
		o := CleanOptions{DropCR: rapid.Bool().Draw(t, "no CR"), Sixel: rapid.Bool().Draw(t, "sixel")}
		var out bytes.Buffer
		c := NewClean(&out, o)
		inPieces(t, in.String(), func(p []byte) { _, _ = c.Write(p) })
		_ = c.Close()
		if want := CleanText(in.String(), o); out.String() != want {
			t.Fatalf("%q in pieces is %q, whole %q", in.String(), out.String(), want)
		}
		clean(t, out.String(), o)
	})
}

// clean fails the test if a text has what it must not have.
func clean(t tester, s string, o CleanOptions) {
	t.Helper()
	if o.Sixel {
		var rest strings.Builder
		var in sixels
		in.split([]byte(s), func(p []byte) { rest.Write(p) }, func([]byte) {})
		in.end(func(p []byte) { rest.Write(p) })
		s = rest.String()
	}
	bad := func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r <= 0x9f || r >= 0xfff9 && r <= 0xfffb
	}
	if i := strings.IndexFunc(s, bad); i >= 0 || !utf8.ValidString(s) {
		t.Fatal("not clean: " + s)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestR287_CopiesAreRawOrClean(t *testing.T) {
	raw := "\x1b[31mred\x1b[0m\r\n\xff"
	log := logOf(t, raw+strings.Repeat("é", chunk))
	var asIs bytes.Buffer
	n, err := Project(context.Background(), &asIs, log, 0, nil)
	is(t, "to", must(t, n, err), int64(len(raw)+2*chunk))
	is(t, "raw", asIs.String(), raw+strings.Repeat("é", chunk))

	var cleaned bytes.Buffer
	c := NewClean(&cleaned, CleanOptions{})
	n, err = Project(context.Background(), c, log, 0, nil)
	must(t, n, errors.Join(err, c.Close()))
	is(t, "clean", cleaned.String(), "red\n\uFFFD"+strings.Repeat("é", chunk))

	if _, err := Project(context.Background(), NewClean(failing{}, CleanOptions{}), log, 0, nil); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a disk that is full: %v", err)
	}
	var rest bytes.Buffer
	n, err = Project(context.Background(), &rest, log, int64(len(raw)), nil)
	is(t, "gone on with", must(t, n, err), int64(len(raw)+2*chunk))
	is(t, "the rest", rest.String(), strings.Repeat("é", chunk))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Project(ctx, io.Discard, log, 0, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// logOf is a log of a real store.
func logOf(t *testing.T, s string) spill.Log {
	t.Helper()
	return fill(t, spill.Plan{}, s)
}

func fill(t *testing.T, p spill.Plan, s string) spill.Log {
	t.Helper()
	store, err := spill.OpenStore(spill.Options{Root: filepath.Join(t.TempDir(), "root"), Node: "node"})
	must(t, store, err)
	t.Cleanup(func() { _ = store.Close() })
	w, err := store.Create("job", spill.Merged, p)
	must(t, w, err)
	for at := 0; at < len(s); at += 1 << 20 {
		n, err := w.Append([]byte(s[at:min(len(s), at+1<<20)]))
		must(t, n, err)
	}
	if err := w.Seal(); err != nil {
		t.Fatal(err)
	}
	log, err := store.Open("job", spill.Merged)
	must(t, log, err)
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func TestProjectTellsWhatWasNotKept(t *testing.T) {
	s := strings.Repeat("0123456789abcde\n", 1<<18) // 4 MiB
	for policy, want := range map[spill.Policy]string{spill.Elide: "between", spill.KeepHead: "at the end"} {
		log := fill(t, spill.Plan{Quota: 2 << 20, Policy: policy}, s)
		missing := log.State().Missing()
		if missing == 0 {
			t.Fatalf("%s kept all", policy)
		}
		path := filepath.Join(t.TempDir(), "copy")
		f, err := os.Create(path)
		must(t, f, err)
		n, err := Project(context.Background(), f, log, 0, nil)
		is(t, "to", must(t, n, errors.Join(err, f.Close())), log.State().Size)
		got := content(t, path)
		head, tail, told := strings.Cut(got, NotKept(missing))
		if !told || !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) || int64(len(s)-len(head)-len(tail)) != missing {
			t.Fatalf("%s: %d and %d bytes, told %v", policy, len(head), len(tail), told)
		}
		if (tail == "") != (want == "at the end") {
			t.Fatalf("%s: %d bytes behind the gap", policy, len(tail))
		}
	}
	is(t, "text", NotKept(4096), "[... 4,096 bytes were not kept ...]\n")
}
