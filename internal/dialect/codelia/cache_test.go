package codelia

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestR259_ToolOutputCacheStaysCompatible(t *testing.T) {
	r := newRig(t)
	ref := r.cached("call_1", strings.TrimSuffix(numbers(1, 9), "\n"))
	get := func(a args) string {
		a["ref_id"] = ref
		return r.call("tool_output_cache", a).Text
	}
	require.Equal(t, "    1  1\n    2  2\n\n[More lines follow. Go on with offset=2]", get(args{"limit": 2}))
	require.Equal(t, "    9  9", get(args{"offset": 8}))
	require.Equal(t, "    1  1\n\n[More lines follow. Go on with offset=1]", get(args{"head": 1}))
	require.Equal(t, "    8  8\n    9  9", get(args{"tail": 2}))
	require.Equal(t, 8, strings.Count(get(args{}), "\n"), "all of it")
	for _, a := range []args{
		{"head": 1, "tail": 1}, {"offset": 0, "head": 1}, {"limit": 1, "tail": 1}, {"limit": 0}, {"offset": -1}, {"head": 0}, {"tail": -1}, {"colour": 1},
	} {
		a["ref_id"] = ref
		result := r.call("tool_output_cache", a)
		require.True(t, result.IsError, "%v", a)
		require.Contains(t, result.Text, "invalid params", "%v", a)
	}
	for _, a := range []args{{}, {"ref_id": " "}, {"ref_id": "nothing"}, {"ref_id": "../../etc/passwd"}} {
		require.True(t, r.call("tool_output_cache", a).IsError, "%v", a)
	}
}

func TestR260_APageIsNumberedCutAndSaysHowToGoOn(t *testing.T) {
	r := newRig(t)
	ref := r.cached("wide", strings.Repeat("é", 1000)+"\n"+strings.Repeat("e\u0301", 1001)+"\nend")
	text := r.call("tool_output_cache", args{"ref_id": ref}).Text
	require.Equal(t, "    1  "+strings.Repeat("é", 1000)+"\n    2  "+strings.Repeat("e\u0301", 1000)+"...\n    3  end"+"\n\n[Cut in width: line 2. tool_output_cache_line reads all of one]", text)

	many := r.cached("many", strings.Repeat(strings.Repeat("x", 1001)+"\n", 100))
	text = r.call("tool_output_cache", args{"ref_id": many}).Text
	require.LessOrEqual(t, len(text), 64<<10+300)
	require.Contains(t, text, "\n\n[Cut by size. Go on with offset=64]")
	require.Contains(t, text, "\n\n[Cut in width: line many. tool_output_cache_line reads all of one]")
	require.Contains(t, r.call("tool_output_cache", args{"ref_id": many, "limit": 3}).Text, "[Cut in width: line 1, 2, 3. tool_output_cache_line reads all of one]")

	past := r.call("tool_output_cache", args{"ref_id": ref, "offset": 5})
	require.Equal(t, "offset 5 is past the end: the output has 3 lines", past.Text)
	dir, err := r.o.Files.Path()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir.txt"), 0o700))
	broken := r.call("tool_output_cache", args{"ref_id": "dir"})
	require.True(t, broken.IsError)
	require.Contains(t, broken.Text, "is a directory")
}

func TestR261_LinesAndSearches(t *testing.T) {
	r := newRig(t)
	ref := r.cached("call_1", "short\n"+strings.Repeat("漢", 150_000)+"\nneedle one\nbetween\nneedle two\nneedle.three\n")
	get := func(a args) string {
		a["ref_id"] = ref
		return r.call("tool_output_cache_line", a).Text
	}
	require.Equal(t, "ref_id=call_1\nline_number=1\nline_length=5\nchar_range=0..5\n\nshort", get(args{"line_number": 1}))
	require.Equal(t, "ref_id=call_1\nline_number=2\nline_length=150000\nchar_range=0..10000\n"+"[The line goes on. Go on with char_offset=10000]"+"\n\n"+strings.Repeat("漢", 10_000), get(args{"line_number": 2}))
	require.Contains(t, get(args{"line_number": 2, "char_limit": 500_000}), "char_range=0..100000\n")
	require.Contains(t, get(args{"line_number": 2, "char_offset": 149_999}), "char_range=149999..150000\n\n漢")
	require.Equal(t, "line_number 99 is not in the output", get(args{"line_number": 99}))
	for _, a := range []args{{"line_number": 0}, {"line_number": 1, "char_offset": -1}, {"line_number": 1, "char_limit": 0}} {
		require.Equal(t, "invalid params", get(a))
	}

	grep := func(a args) string {
		a["ref_id"] = ref
		return r.call("tool_output_cache_grep", a).Text
	}
	require.Equal(t, "ref:call_1\n    3  needle one\n\nref:call_1\n    5  needle two\n    6  needle.three", grep(args{"pattern": "needle"}))
	require.Equal(t, "ref:call_1\n    3  needle one\n    4  between\n    5  needle two\n    6  needle.three\n\n"+"[More lines match, from line 6 on]", grep(args{"pattern": "needle", "after": 1, "max_matches": 2}))
	require.Equal(t, "ref:call_1\n    6  needle.three", grep(args{"pattern": "needle."}), "a text, not an expression")
	require.Equal(t, "ref:call_1\n    5  needle two", grep(args{"pattern": "^needle t.o$", "regex": true}))
	require.Contains(t, grep(args{"pattern": "nowhere"}), "nowhere")
	require.True(t, r.call("tool_output_cache_grep", args{"ref_id": ref, "pattern": "(", "regex": true}).IsError)
	require.True(t, r.call("tool_output_cache_grep", args{"ref_id": ref, "pattern": ""}).IsError)
	require.True(t, r.call("tool_output_cache_grep", args{"ref_id": ref, "pattern": "x", "before": -1}).IsError)
	fifty := r.cached("fifty", strings.Repeat("match\n", 60))
	require.Equal(t, 50, strings.Count(r.call("tool_output_cache_grep", args{"ref_id": fifty, "pattern": "match"}).Text, "  match"))

	small := newRig(t, func(o *Options) {
		o.Env = append(o.Env, "TROUPE_OUTPUT_CACHE_MAX_GREP_BYTES=100", "CODELIA_TOOL_OUTPUT_CACHE_MAX_LINE_LENGTH=5000")
	})
	large := small.cached("large", "x\n"+strings.Repeat("match", 100)+"\n")
	require.Equal(t, "line 2 of large matches, but is too large to show; read it with tool_output_cache_line", small.call("tool_output_cache_grep", args{"ref_id": large, "pattern": "match"}).Text)
}

func TestR262_FilesOfTheCacheAndItsLimits(t *testing.T) {
	r := newRig(t)
	ref := "call/1:ü"
	r.cached(ref, "text\n")
	dir, err := r.o.Files.Path()
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "call_1__.txt"))
	require.Equal(t, "    1  text\n    2  ", r.call("tool_output_cache", args{"ref_id": ref}).Text, "a newline at the end begins an empty line")

	family := newRig(t, func(o *Options) {
		o.Env = append(o.Env, "CODELIA_TOOL_OUTPUT_CACHE_MAX_LINE_LENGTH=3", "CODELIA_TOOL_OUTPUT_CACHE_MAX_READ_BYTES=40")
	})
	family.cached("a", "abcdef\n"+numbers(1, 100))
	text := family.call("tool_output_cache", args{"ref_id": "a"}).Text
	require.True(t, strings.HasPrefix(text, "    1  abc...\n    2  1\n"), text)
	require.Contains(t, text, "Cut by size")
	ours := newRig(t, func(o *Options) {
		o.Env = append(o.Env, "CODELIA_TOOL_OUTPUT_CACHE_MAX_LINE_LENGTH=3", "TROUPE_OUTPUT_CACHE_MAX_LINE_LENGTH=4")
	})
	ours.cached("a", "abcdef")
	require.True(t, strings.HasPrefix(ours.call("tool_output_cache", args{"ref_id": "a"}).Text, "    1  abcd...\n"))
}

func TestR263_LongMessagesKeepTheirRef(t *testing.T) {
	whole := strings.Repeat("x", 51200)
	require.Equal(t, whole, CutMessage(whole, "call_1", 51200))
	cut := CutMessage(strings.Repeat(strings.Repeat("y", 99)+"\n", 600), "call_1", 51200)
	require.Less(t, len(cut), 51200+200)
	require.Contains(t, cut, "ref_id=call_1")
	body, _, _ := strings.Cut(cut, "\n\n[")
	for _, l := range strings.Split(body, "\n") {
		require.Contains(t, []int{0, 99}, len(l), "whole lines")
	}

	r := newRig(t)
	wide := r.cached("wide", strings.Repeat("漢", 60_000))
	line := r.call("tool_output_cache_line", args{"ref_id": wide, "line_number": 1, "char_limit": 60_000}).Text
	require.Less(t, len(line), 51200+200)
	require.True(t, strings.HasSuffix(line, "ref_id=wide]"), line[len(line)-100:])
}
