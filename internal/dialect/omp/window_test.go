package omp

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
)

// file is the text of an artifact.
func (r *rig) file(id string) string {
	r.t.Helper()
	path, err := r.store.Find(id)
	require.NoError(r.t, err)
	text, err := os.ReadFile(path)
	require.NoError(r.t, err)
	return string(text)
}

// body is what a result shows of the output.
func body(r dialect.Result) string {
	return r.Text[:strings.LastIndex(r.Text, "\n\nWall time:")]
}

func TestR073_TheWindowIsATailOf50KB(t *testing.T) {
	r := newRig(t)
	fits := r.bash(args{"command": "head -c 51200 /dev/zero | tr '\\0' x"})
	require.Len(t, body(fits), 51200)
	require.Nil(t, details(t, fits).Meta)
	result := r.bash(args{"command": "head -c 51201 /dev/zero | tr '\\0' x; printf ä"})
	require.True(t, strings.HasSuffix(body(result), "xä"))
	require.Len(t, body(result), 51200)
	many := r.bash(args{"command": "yes a | head -n 10000 | cat"})
	require.Equal(t, 10000, strings.Count(body(many), "a"), "no cap of 2000 lines")
}

func TestR074_WhatOverflowsIsInAnArtifact(t *testing.T) {
	r := newRig(t)
	result := r.bash(args{"command": "seq 20000"})
	truncation := details(t, result).Meta.Truncation
	require.Equal(t, "0", truncation.ArtifactID)
	full := r.file("0")
	require.Len(t, full, 108894)
	require.True(t, strings.HasSuffix(full, body(result)+"\n"))
}

func TestR075_TheFileIsCompleteAndSmallOutputsHaveNone(t *testing.T) {
	r := newRig(t)
	r.run("echo small")
	require.NoDirExists(t, r.store.Dir())
	r.run("printf 'first byte'; seq 20000")
	require.True(t, strings.HasPrefix(r.file("0"), "first byte1\n2\n"))

	broken := newRig(t, func(o *Options, _ *JobsOptions) {
		require.NoError(t, os.WriteFile(filepath.Join(o.Dir, "file"), nil, 0o600))
		o.Files = artifact.NewStore(filepath.Join(o.Dir, "file", "below"))
	})
	result := broken.bash(args{"command": "seq 20000"})
	require.False(t, result.IsError)
	require.Empty(t, details(t, result).Meta.Truncation.ArtifactID)
	require.NotContains(t, result.Text, "artifact://")
}

func TestR076_ARuneIsNeverCut(t *testing.T) {
	r := newRig(t)
	for shift := range 3 {
		result := r.bash(args{"command": fmt.Sprintf(`printf '%%%ds' ''; for i in $(seq 20000); do printf '€'; done`, shift+1)})
		require.True(t, utf8.ValidString(result.Text))
		require.True(t, strings.HasPrefix(result.Text, "€"))
		require.Equal(t, 17066, strings.Count(body(result), "€"))
	}
}

func TestR077_LinesAreNewlinesAndOneMore(t *testing.T) {
	r := newRig(t)
	for command, want := range map[string]int64{"true": 0, "printf a": 1, "echo a": 2, `printf 'a\nb'`: 2} {
		result, err := r.ExecuteTo(context.Background(), command, io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, result.TotalLines, command)
		require.Equal(t, want, result.OutputLines, command)
	}
}

func TestR078_TheSummaryHasBothCounts(t *testing.T) {
	r := newRig(t)
	result, err := r.ExecuteTo(context.Background(), "seq 20000", io.Discard)
	require.NoError(t, err)
	require.Equal(t, []any{true, int64(20001), int64(108894), int64(51200), "0"}, []any{result.Truncated, result.TotalLines, result.TotalBytes, result.OutputBytes, result.ArtifactID})
	require.Equal(t, lines(result.Output), result.OutputLines)
	small, err := r.ExecuteTo(context.Background(), "echo", io.Discard)
	require.NoError(t, err)
	require.False(t, small.Truncated)
	require.Empty(t, small.ArtifactID)
}

func TestR079_UpdatesAreJoinedAndTheLastHasTheEnd(t *testing.T) {
	r := newRig(t)
	var texts []string
	var at []time.Time
	result, err := r.call(context.Background(), "bash", args{"command": "for i in $(seq 3000); do echo $i; done"}, func(u dialect.Result) {
		texts, at = append(texts, u.Text), append(at, time.Now())
	})
	require.NoError(t, err)
	require.NotEmpty(t, texts)
	require.Equal(t, body(result)+"\n", texts[len(texts)-1])
	for i := range texts {
		require.True(t, strings.HasPrefix(texts[len(texts)-1], texts[i]), "each replaces the one before, and none has holes")
		if i > 0 && i < len(texts)-1 {
			require.GreaterOrEqual(t, at[i].Sub(at[i-1]), updateEvery-5*time.Millisecond)
		}
	}
	require.Equal(t, 50*time.Millisecond, updateEvery)
}

func TestR080_UpdatesAreTheTail(t *testing.T) {
	r := newRig(t)
	last := ""
	_, err := r.call(context.Background(), "bash", args{"command": "seq 100000"}, func(u dialect.Result) {
		require.LessOrEqual(t, len(u.Text), window)
		last = u.Text
	})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(last, "\n99999\n100000\n"))
}

func TestR081_AnUpdateIsAtMostTheWindowInWholeRunes(t *testing.T) {
	r := newRig(t)
	_, err := r.call(context.Background(), "bash", args{"command": `for i in $(seq 60000); do printf '€'; done`}, func(u dialect.Result) {
		require.LessOrEqual(t, len(u.Text), window)
		require.Empty(t, strings.Trim(u.Text, "€"))
	})
	require.NoError(t, err)
}

func TestR082_WhatOnlyATerminalUnderstandsIsTakenOut(t *testing.T) {
	r := newRig(t)
	command := `printf '\033[31mred\033[0m\ta\r\nb\rc\001\007\033]0;title\007d\357\277\271e\n'`
	require.Contains(t, r.run(command), "red\ta\nb\nc")
	require.NotContains(t, r.run(command), "\x1b")
	require.NotContains(t, r.run(command), "title")
	r.run("for i in $(seq 10000); do printf '\\033[31mred\\033[0m %s\\r\\n' $i; done")
	require.True(t, strings.HasPrefix(r.file("0"), "red 1\nred 2\n"), "the artifact, too")
}

func TestR083_PicturesAreTakenOut(t *testing.T) {
	r := newRig(t)
	require.Contains(t, r.run(`printf 'a\033Pq#0;2;0;0;0~~\033\\b\n'`), "ab\n")
}

func TestR084_SequencesAndRunesMayComeInPieces(t *testing.T) {
	r := newRig(t)
	updates := map[string]bool{}
	result, err := r.call(context.Background(), "bash", args{"command": `printf 'a\033['; sleep 0.1; printf '31mb\303'; sleep 0.1; printf '\244\n\377\n'`}, func(u dialect.Result) { updates[u.Text] = true })
	require.NoError(t, err)
	require.Contains(t, result.Text, "abä\n\uFFFD\n")
	for text := range updates {
		require.True(t, strings.HasPrefix("abä\n\uFFFD\n", text), "%q", text)
	}
}

func TestR085_ArtifactsHaveDecimalIds(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.MkdirAll(r.store.Dir(), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(r.store.Dir(), "7.read.log"), []byte("x"), 0o600))
	result := r.bash(args{"command": "seq 20000"})
	require.Contains(t, result.Text, "artifact://8")
	require.FileExists(t, filepath.Join(r.store.Dir(), "8.bash.log"))
}

func TestR086_WithoutArtifactsAnOutputIsCutAllTheSame(t *testing.T) {
	r := newRig(t, func(o *Options, _ *JobsOptions) { o.Files = nil })
	result := r.bash(args{"command": "seq 20000"})
	require.False(t, result.IsError)
	truncation := details(t, result).Meta.Truncation
	require.Equal(t, "", truncation.ArtifactID)
	require.Regexp(t, regexp.MustCompile(`\n\n\[Showing lines \d+-20001 of 20001 \(50\.0KB limit\)\]$`), result.Text)
}

func TestR087_ALongResultIsKeptByTheNet(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("line\n", 20_000)
	result := r.Net(dialect.Result{Text: long})
	require.Contains(t, result.Text, "artifact://0")
	require.LessOrEqual(t, strings.Count(result.Text, "line\n"), 500)
	require.Equal(t, long, r.file("0"))
	wide := r.Net(dialect.Result{Text: strings.Repeat("x", 60_000)})
	require.Equal(t, 20<<10, strings.Count(wide.Text, "x"))
	require.Equal(t, long, r.Net(dialect.Result{Text: long, Details: &Details{Meta: &Meta{Truncation: &Truncation{ArtifactID: "3"}}}}).Text)
	small := dialect.Result{Text: strings.Repeat("x", 50<<10)}
	require.Equal(t, small, r.Net(small))
}

func TestR083_PicturesAreShownToAUserWhoWantsThem(t *testing.T) {
	const picture = "\x1bPq~~\x1b\\"
	const command = `printf 'a\033[1m\033Pq~~\033\\b\nc\n'`
	plain := newRig(t, settings(func(s *Settings) { s.Minimizer.Enabled = false }))
	require.Equal(t, "ab\nc", body(plain.bash(args{"command": command})))
	wants := newRig(t, settings(func(s *Settings) { s.Minimizer.Enabled = false }), func(o *Options, _ *JobsOptions) {
		o.Env = append(o.Env, "PI_FORCE_IMAGE_PROTOCOL=sixel", "PI_ALLOW_SIXEL_PASSTHROUGH=1")
	})
	require.Equal(t, "a"+picture+"b\nc", body(wants.bash(args{"command": command})))
	require.Equal(t, "a"+picture+"b", body(wants.bash(args{"command": command + " | head -1"})))
}
