package mcp

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"troupe/internal/dialect/core"
	"troupe/messages"
	"troupe/spill/view"
)

// written is a host whose jobs have written data, and write later one after the other
// when somebody waits for it.
type written struct {
	*node
	data  map[messages.Stream]string
	later []string
}

func (w *written) Bytes(_ context.Context, _ messages.JobID, stream messages.Stream, from int64, most int, wait bool) (Bytes, error) {
	if wait && len(w.later) > 0 {
		w.data[stream] += w.later[0]
		w.later = w.later[1:]
	}
	size := int64(len(w.data[stream]))
	b := Bytes{Next: from, Size: size}
	if from < size {
		b.Next = min(size, from+int64(most))
		b.Data = []byte(w.data[stream])[from:b.Next]
	}
	return b, nil
}

func (w *written) View(_ context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	if r.Stream == messages.Both {
		return w.both(r.After, r.View.Bytes), nil
	}
	text := w.data[r.Stream]
	size := int64(len(text))
	from := max(0, size-int64(r.View.Bytes))
	return messages.OutputPage{Stream: r.Stream, Text: text[from:], From: from, To: size, Bytes: size, Truncated: from > 0}, nil
}

// both shows stdout and stderr in turn, a byte of each: the order in which they arrived.
func (w *written) both(behind [2]int64, most int) messages.OutputPage {
	out, err := w.data[messages.Stdout], w.data[messages.Stderr]
	page := messages.OutputPage{Stream: messages.Both, To: int64(len(out) + len(err)), Bytes: int64(len(out) + len(err))}
	for i := range max(len(out), len(err)) {
		for k, text := range []string{out, err} {
			if i < len(text) && int64(i) >= behind[k] {
				page.Text += text[i : i+1]
			}
		}
	}
	if cut := len(page.Text) - most; cut > 0 {
		page.Text, page.Truncated = page.Text[cut:], true
	}
	return page
}

// writer is a client whose jobs have written data to stdout.
func writer(t *testing.T, data string, later ...string) (*call, *written) {
	t.Helper()
	w := &written{node: newNode(), data: map[messages.Stream]string{messages.Merged: data}, later: later}
	return enteredAt(t, w).calling(), w
}

// Read part by part, an output is what it is as a whole.
func TestPartsOfAnMCPOutputAreAllOfIt(t *testing.T) {
	bits := []string{
		"text", "\n", "\r\n", "é", "漢", "\xe2\x82", "\xff", "\u202e", "\x00", "\x1b[31m", "\x1b[38;5;1m", "\x1b[3\n1m", "\x1b]0;title\a",
		"\x1bP1$r0m\x1b\\", "\x1b[", "\x1b]", strings.Repeat("x", 50), "\x1b]8;;http://a.long.place/\x1b\\link",
	}
	c, w := writer(t, "")
	rapid.Check(t, func(t *rapid.T) {
		all := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 40).Draw(t, "output"), "")
		most := rapid.IntRange(1, 60).Draw(t, "most")
		w.data[messages.Merged] = all
		whole := view.Cleaner{Final: true}
		want := string(whole.End(whole.Append(nil, []byte(all))))
		got, from := "", int64(0)
		for from < int64(len(all)) {
			s, err := c.outputFrom(context.Background(), messages.Record{State: messages.Finished}, messages.Merged, from, most, 0)
			if err != nil || s.Next <= from || s.Truncated != (s.Next < int64(len(all))) {
				t.Fatalf("from %d: %+v, %v", from, s, err)
			}
			if len(s.Output) > max(most, 12) {
				t.Fatalf("%d bytes are %q", most, s.Output)
			}
			got, from = got+s.Output, s.Next
		}
		if got != want {
			t.Fatalf("%q in parts of %d is %q, want %q", all, most, got, want)
		}
	})
}

// What cannot be told yet is left to the next part, and waited for.
func TestAPartOfAnMCPOutputThatGoesOn(t *testing.T) {
	for _, it := range []struct {
		data  string
		from  int64
		later []string
		want  string
		next  int64
	}{
		{"a\r", 0, nil, "a", 2},
		{"a\r", 1, nil, "", 2},
		{"a\r", 2, []string{"\nb"}, "\nb", 4},
		{"10%\r20%", 0, nil, "20%", 7},
		{"10%\r20%", 3, []string{"\r30%"}, "20%", 7},
		{"10%\r20%", 7, []string{"\r30%"}, "30%", 11},
		{"a\xe2", 1, []string{"\x82", "\xac"}, "€", 4},
		{"a\x1b[3", 1, []string{"1mred"}, "red", 9},
	} {
		c, _ := writer(t, it.data, it.later...)
		wait := time.Duration(len(it.later)) * time.Minute
		s, err := c.outputFrom(t.Context(), messages.Record{State: messages.Running}, messages.Merged, it.from, 99, wait)
		require.NoError(t, err)
		require.Equal(t, it.want, s.Output, "%q", it.data)
		require.Equal(t, it.next, s.Next, "%q", it.data)
		require.False(t, s.Truncated, "%q", it.data)
	}
}

// A byte may be within a character or a sequence: what is left of that is no text.
func TestAnMCPOutputFromWithin(t *testing.T) {
	const all = "a\x1b[31mred\x1b]0;a title\ahé漢"
	for _, it := range []struct {
		from  int64
		want  string
		begin int64
	}{
		{1, "redhé漢", 1},
		{2, "redhé漢", 2},
		{5, "redhé漢", 5},
		{6, "redhé漢", 6},
		{7, "edhé漢", 7},
		{12, "hé漢", 12},
		{22, "é漢", 22},
		{23, "漢", 24},
		{25, "", 27},
		{26, "", 27},
		{27, "", 27},
	} {
		for _, most := range []int{99, 1} {
			c, _ := writer(t, all)
			got, begin, next := "", int64(-1), it.from
			for done := false; !done; done = next == int64(len(all)) {
				s, err := c.outputFrom(t.Context(), messages.Record{State: messages.Finished}, messages.Merged, next, most, 0)
				require.NoError(t, err)
				if begin < 0 {
					begin = s.From
				}
				got, next = got+s.Output, s.Next
			}
			require.Equal(t, it.want, got, "from %d, at most %d", it.from, most)
			require.Equal(t, it.begin, begin, "from %d, at most %d", it.from, most)
		}
	}
	c, _ := writer(t, "a\x1b[3", "1mred")
	s, err := c.outputFrom(t.Context(), messages.Record{State: messages.Running}, messages.Merged, 3, 99, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "red", s.Output)
}

// However often a character is broken off, no part is longer than was asked for.
func TestAnMCPOutputOfBrokenCharacters(t *testing.T) {
	c, _ := writer(t, "\r"+strings.Repeat("\xe2\x82", 50))
	s, err := c.outputFrom(t.Context(), messages.Record{State: messages.Finished}, messages.Merged, 0, 12, 0)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("\uFFFD", 4), s.Output)
	require.EqualValues(t, 5, s.Next)
}

// A sequence that is longer than what was asked for is gone over.
func TestALongSequenceInAnMCPOutput(t *testing.T) {
	c, _ := writer(t, "\x1b]0;"+strings.Repeat("T", 5000)+"\adone")
	s, err := c.outputFrom(t.Context(), messages.Record{State: messages.Finished}, messages.Merged, 0, 100, 0)
	require.NoError(t, err)
	require.Equal(t, "done", s.Output)
	require.EqualValues(t, 5009, s.Next)
}

// The place behind a gap is not that of as many bytes.
func TestAPartOfAnMCPOutputThatIsCutBehindAGap(t *testing.T) {
	b := Bytes{Data: bytes.Repeat([]byte{'x'}, 20), Next: 120, Size: 200, Gaps: []messages.OutputGap{{From: 5, To: 105}}}
	s, _ := part{Bytes: b}.shown(10, false)
	require.Equal(t, strings.Repeat("x", 10), s.Output)
	require.EqualValues(t, 110, s.Next)
}

// What a run that goes on shows ends where its next begins, however old its reply is.
func TestARunThatGoesOnSaysWhereToGoOn(t *testing.T) {
	c, _ := writer(t, "one\ntwo\n")
	job := messages.Record{State: messages.Running, Output: []messages.StreamOutput{{Stream: messages.Merged, Bytes: 2}}}
	a, err := c.shown(t.Context(), job, Text{Text: "one\n"}, 99, "")
	require.NoError(t, err)
	out := a.result.(*core.RunResult)
	require.Equal(t, "one\ntwo\n", out.Output)
	require.EqualValues(t, 8, out.Next)
}

// Where streams are apart, the end of a job is that of both, in the order in which they
// arrived, and so is what it answers.
func TestTheEndOfBothStreams(t *testing.T) {
	c, w := writer(t, "")
	w.data[messages.Stdout], w.data[messages.Stderr] = "12345", "FATAL"
	job := messages.Record{State: messages.Finished, Output: []messages.StreamOutput{{Stream: messages.Stdout}, {Stream: messages.Stderr}}}
	page, err := c.outputTail(t.Context(), job, 99)
	require.NoError(t, err)
	require.Equal(t, messages.OutputPage{Text: "1F2A3T4A5L", Bytes: 10}, page)
	page, err = c.outputTail(t.Context(), job, 6)
	require.NoError(t, err)
	require.Equal(t, messages.OutputPage{Text: "3T4A5L", Bytes: 10, Truncated: true}, page)
	s, err := c.since(t.Context(), job, []messages.StreamOutput{{Stream: messages.Stdout, Bytes: 3}, {Stream: messages.Stderr, Bytes: 4}}, 99)
	require.NoError(t, err)
	require.Equal(t, core.OutputExcerpt{Output: "45L", Bytes: 10}, s)
}

// older is a host that is older than who asks it.
type older struct{ *written }

func (o older) Do(ctx context.Context, r messages.Refusable) (any, error) {
	if read, is := r.(messages.ReadOutput); !is || read.Stream != messages.Both {
		return o.written.Do(ctx, r)
	}
	return nil, &messages.Error{Code: messages.Unsupported, Reason: "daemon", Message: "the daemon is older", Hint: "read shows each"}
}

// What a host cannot show does not undo what was done: a result says so in its place.
func TestAnOlderHostShowsNoTwoStreams(t *testing.T) {
	c := enteredAt(t, older{&written{node: newNode()}}).calling()
	job := messages.Record{State: messages.Finished, Output: []messages.StreamOutput{{Stream: messages.Stdout, Bytes: 2}, {Stream: messages.Stderr, Bytes: 3}}}
	s, err := c.since(t.Context(), job, job.Output, 99)
	require.NoError(t, err)
	require.Equal(t, core.OutputExcerpt{Output: "[the daemon is older: read shows each]\n", Bytes: 5, Truncated: true}, s)
	a, err := c.tell(t.Context(), job, 99, "")
	require.NoError(t, err)
	require.Equal(t, s, a.result.(*core.RunResult).OutputExcerpt)
	_, err = c.outputTail(t.Context(), job, 99)
	require.Error(t, err, "who needs no result is shown nothing")
}

// pagesOfMatches is a host that answers a search with given pages.
type pagesOfMatches struct {
	*node
	pages []messages.OutputPage
	asked []messages.View
}

func (p *pagesOfMatches) View(_ context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	p.asked = append(p.asked, r.View)
	page := p.pages[0]
	p.pages = p.pages[1:]
	return page, nil
}

// A search shows as many pages as fit, and says where it goes on.
func TestSearchOfMCPGoesOn(t *testing.T) {
	p := &pagesOfMatches{node: newNode(), pages: []messages.OutputPage{
		{Text: "1:a\n", To: 10, Bytes: 40, Matches: 1, Next: "10.2.0.4", Truncated: true},
		{To: 20, Bytes: 40, Next: "20.3.0.4", Truncated: true},
		{Text: strings.Repeat("x", 60), From: 20, To: 30, Bytes: 40, Matches: 2, Next: "30.4.0.9", Truncated: true},
	}}
	c := enteredAt(t, p).calling()
	v, bad := core.Read{Pattern: "a", Context: 1, MaxBytes: 100}.View()
	require.Nil(t, bad)
	s, err := c.search(t.Context(), messages.ReadOutput{View: v})
	require.NoError(t, err)
	require.Equal(t, []string{"", "10.2.0.4", "20.3.0.4"}, []string{p.asked[0].Cursor, p.asked[1].Cursor, p.asked[2].Cursor})
	require.Equal(t, 96, p.asked[2].Bytes)
	require.Equal(t, "1:a\n"+strings.Repeat("x", 60), s.Output)
	r := core.RunResult{OutputExcerpt: s}
	require.Contains(t, r.Text(), "[3 lines match in bytes 0 to 30 of 40; for more give the same pattern and cursor 30.4.0.9]\n")
	p.pages = []messages.OutputPage{{To: 40, Bytes: 40}}
	s, err = c.search(t.Context(), messages.ReadOutput{View: v})
	require.NoError(t, err)
	r = core.RunResult{OutputExcerpt: s}
	require.Contains(t, r.Text(), "[no line matches]\n")
	for _, bad := range []core.Read{{Pattern: "a", Line: 1}, {Pattern: "a", Tail: 1}, {Context: 1}, {Cursor: "1"}, {Pattern: "a", Context: -1}} {
		_, err := bad.View()
		require.NotNil(t, err, bad)
	}
}
