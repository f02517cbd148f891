package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

func TestR165_AtTheLimitsAnOutputIsUnchangedAndHasNoFile(t *testing.T) {
	r := newRig(t)
	require.Equal(t, numbers(1, 2000), r.run("seq 2000").Text)
	line := strings.Repeat("x", 51200)
	require.Equal(t, line, r.run("printf %51200s | tr ' ' x").Text)
	require.Empty(t, r.saved())
	require.Contains(t, r.run("seq 2001").Text, "<stdout truncated: 2,001 lines total>")
	require.Contains(t, r.run("printf %51201s | tr ' ' x").Text, "<stdout truncated: 1 lines total>")
	require.Len(t, r.saved(), 2)
}

func TestR166_AllOfItIsInAFileOfADirectoryOfTheSessionAlone(t *testing.T) {
	r := newRig(t)
	path := details(t, r.run("seq 5000")).TempFilePath
	require.Equal(t, filepath.Join(r.temp, "opencode-s1"), filepath.Dir(path))
	require.Equal(t, numbers(1, 5000), content(t, path))
	info, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	set := Settings{}.withDefaults()
	require.Equal(t, "/tmp", set.TempDir)
	require.EqualValues(t, 104857600, set.MaxPersistBytes)
	request, err := r.request(BashParams{Command: "true"})
	require.NoError(t, err)
	require.Equal(t, messages.Quota{Bytes: 104857600, Policy: "keep_head"}, request.Quota)
}

func TestR167_StdoutAndStderrHaveFilesOfTheirOwn(t *testing.T) {
	at := time.Unix(0, 1_700_000_000_123_456_789)
	r := newRig(t, func(o *Options) { o.Now = func() time.Time { return at } })
	m := details(t, r.run("seq 3000; seq 4000 >&2"))
	require.Equal(t, "bash-1700000000123456789-stdout.txt", filepath.Base(m.StdoutFilePath))
	require.Equal(t, "bash-1700000000123456789-stderr.txt", filepath.Base(m.StderrFilePath))
	require.Equal(t, numbers(1, 3000), content(t, m.StdoutFilePath))
	require.Equal(t, numbers(1, 4000), content(t, m.StderrFilePath))
}

func TestR168_ANameThatIsTakenGetsANewTimestamp(t *testing.T) {
	at := time.Unix(0, 1_700_000_000_000_000_000)
	r := newRig(t, func(o *Options) { o.Now = func() time.Time { return at } })
	first, second := details(t, r.run("seq 3000")).TempFilePath, details(t, r.run("seq 3001")).TempFilePath
	require.Equal(t, "bash-1700000000000000000-stdout.txt", filepath.Base(first))
	require.Equal(t, "bash-1700000000000000001-stdout.txt", filepath.Base(second))
	require.Equal(t, numbers(1, 3000), content(t, first), "the first is not written over")
	info, err := os.Stat(second)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestR169_ThePreviewIsExact(t *testing.T) {
	r := newRig(t)
	result := r.run("seq 8432")
	want := "<stdout truncated: 8,432 lines total>\nFull output saved to: " + details(t, result).TempFilePath +
		"\nUse the view tool with offset/limit to read specific sections.\n\n--- First 500 lines ---\n" + numbers(1, 500) +
		"\n--- Last 500 lines ---\n" + strings.TrimSuffix(numbers(7933, 8432), "\n")
	require.Equal(t, want, result.Text)
	plain := newRig(t, settings(func(s *Settings) { s.PlainNumbers = true }))
	require.Contains(t, plain.run("seq 8432").Text, "<stdout truncated: 8432 lines total>\n")
}

func TestR170_TheGapIsMarkedWhereThereIsNoFileOrOnRequest(t *testing.T) {
	gap := "500\n\n... [7,432 lines truncated] ...\n\n--- Last 500 lines ---\n7933\n"
	require.NotContains(t, newRig(t).run("seq 8432").Text, "lines truncated]")
	require.Contains(t, newRig(t, settings(func(s *Settings) { s.GapMarker = true })).run("seq 8432").Text, gap)
	require.Contains(t, newRig(t, noDirectory).run("seq 8432").Text, gap)
	text := newRig(t, noDirectory).run("seq 8432 >&2").Text
	require.True(t, strings.HasPrefix(text, "<stderr truncated: 8,432 lines total>\n"), text[:80])
}

func TestR171_EndsAreWholeLinesAndTheirNumbersAreConfigured(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.TruncatedHeadLines, s.TruncatedTailLines = 3, 2 }))
	require.Contains(t, r.run("seq 3000").Text, "--- First 3 lines ---\n1\n2\n3\n\n--- Last 2 lines ---\n2999\n3000")

	wide := newRig(t).run(`yes "$(printf 'é%.0s' $(seq 100))" | head -n 3000`).Text
	line := strings.Repeat("é", 100)
	require.Greater(t, len(wide), 150_000, "500 and 500 may pass 50 KB")
	_, ends, _ := strings.Cut(wide, "--- First 500 lines ---\n")
	head, tail, _ := strings.Cut(ends, "\n\n--- Last 500 lines ---\n")
	for _, part := range []string{head, tail} {
		all := strings.Split(part, "\n")
		require.Len(t, all, 500)
		for _, l := range all {
			require.Equal(t, line, l)
		}
	}

	low := newRig(t, settings(func(s *Settings) { s.tokens = 10_000 })).run(`yes "$(printf 'é%.0s' $(seq 100))" | head -n 3000`).Text
	require.Less(t, len(low), 40_000)
	require.NotContains(t, low, "[Output truncated due to size limit...]")
	require.Contains(t, low, "--- Last 500 lines ---\n"+line+"\n")
	require.True(t, strings.HasSuffix(low, "\n"+line))
}

func TestR172_WithoutFilesTheFirstAndLastThousandLinesFitInto50KB(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.NoFiles = true }))
	require.Equal(t, numbers(1, 1000)+"\n... [3,000 lines truncated] ...\n\n"+numbers(4001, 5000), r.run("seq 5000").Text)
	text := r.run(`seq -f '%099.0f' 5000`).Text
	require.LessOrEqual(t, len(text), 51200+100)
	require.Greater(t, len(text), 50_000)
	gap := regexp.MustCompile(`\n\n\.\.\. \[([\d,]+) lines truncated\] \.\.\.\n\n`)
	require.Len(t, gap.FindAllString(text, -1), 1)
	at := gap.FindStringSubmatchIndex(text)
	head, tail := strings.Split(text[:at[0]], "\n"), strings.Split(strings.TrimSuffix(text[at[1]:], "\n"), "\n")
	require.Equal(t, fmt.Sprintf("%099d", 1), head[0])
	require.Equal(t, fmt.Sprintf("%099d", 5000), tail[len(tail)-1])
	require.Equal(t, artifact.Thousands(int64(5000-len(head)-len(tail))), text[at[2]:at[3]])
	require.Empty(t, r.saved())
}

func TestR173_FewHugeLinesAreBoundedToo(t *testing.T) {
	r := newRig(t)
	result := r.run(`printf 'ä%.0s' $(seq 100000)`)
	require.Less(t, len(result.Text), 51200+500)
	require.True(t, utf8.ValidString(result.Text))
	require.NotContains(t, result.Text, "\uFFFD")
	require.Regexp(t, `ä\.\.\. \[[\d,]+ bytes of this line are left out; the file has them\] \.\.\.ä`, result.Text)
	require.Equal(t, strings.Repeat("ä", 100000), content(t, details(t, result).TempFilePath))

	result = r.run(`for i in 1 2 3; do printf "$i"; head -c 100000 /dev/zero | tr '\0' x; echo; done`)
	require.Less(t, len(result.Text), 51200+500)
	require.Contains(t, result.Text, "--- First 500 lines ---\n1x")
	require.Contains(t, result.Text, "--- Last 500 lines ---\n3x")
}

func TestR174_AFileHoldsTheFirst100MBAndTheTextSaysSo(t *testing.T) {
	r := newRig(t)
	result := r.run(`head -c 104857590 /dev/zero | tr '\0' '\n'; printf 'abcdefghijKLMNOP\n'`)
	m := details(t, result)
	require.Contains(t, result.Text, "\nFull output saved to: "+m.TempFilePath+" (truncated at 100MB)\n")
	info, err := os.Stat(m.TempFilePath)
	require.NoError(t, err)
	require.EqualValues(t, 104857600, info.Size())
	require.True(t, strings.HasSuffix(result.Text, "\nabcdefghij"), "the end of what the file has")
	require.Zero(t, m.ExitCode, "the command was not ended for it")

	list, err := host.Ask(t.Context(), r.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	require.EqualValues(t, 104857607, jobs[0].Output[0].Bytes, "what follows is counted")
	require.Equal(t, []messages.OutputGap{{From: 104857600, To: 104857607}}, jobs[0].Output[0].Elided)
}

// noDirectory leaves the session no place for files.
func noDirectory(o *Options) {
	o.Settings.TempDir = filepath.Join(o.Settings.TempDir, "file")
	if err := os.WriteFile(o.Settings.TempDir, nil, 0o600); err != nil {
		panic(err)
	}
}

func TestR175_WithoutADirectoryThereIsThePreviewAndNoError(t *testing.T) {
	result := newRig(t, noDirectory).run("seq 8432")
	require.Equal(t, "<stdout truncated: 8,432 lines total>\n\n--- First 500 lines ---\n"+numbers(1, 500)+
		"\n... [7,432 lines truncated] ...\n\n--- Last 500 lines ---\n"+strings.TrimSuffix(numbers(7933, 8432), "\n"), result.Text)
	require.False(t, result.IsError)
	require.NotContains(t, dialecttest.Fields(t, result.Details), "temp_file_path")
}

func TestR176_ParallelCallsShareTheDirectoryAndNoName(t *testing.T) {
	at := time.Unix(0, 1)
	r := newRig(t, func(o *Options) { o.Now = func() time.Time { return at } })
	paths := make([]string, 8)
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() { paths[i] = details(t, r.run(fmt.Sprintf("seq %d", 3000+i))).TempFilePath })
	}
	all.Wait()
	seen := map[string]bool{}
	for i, path := range paths {
		require.False(t, seen[path], path)
		seen[path] = true
		require.Equal(t, filepath.Join(r.temp, "opencode-s1"), filepath.Dir(path))
		require.Equal(t, numbers(1, 3000+i), content(t, path))
	}
}

func TestR177_TheDirectoryGoesWithTheSessionAndThatOfTheDeadIsSwept(t *testing.T) {
	r := newRig(t)
	path := details(t, r.run("seq 3000")).TempFilePath
	require.NoError(t, r.Close(t.Context()))
	require.NoDirExists(t, filepath.Dir(path))

	dead := filepath.Join(r.temp, "opencode-dead")
	require.NoError(t, os.Mkdir(dead, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dead, "owner.lock"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dead, "bash-1-stdout.txt"), []byte("old"), 0o600))
	other := newRig(t, settings(func(s *Settings) { s.TempDir = r.temp }))
	alive := details(t, other.run("seq 3000")).TempFilePath
	require.NoDirExists(t, dead)
	third := newRig(t, settings(func(s *Settings) { s.TempDir = r.temp }), func(o *Options) { o.SessionID = "s3" })
	third.run("seq 3000")
	require.FileExists(t, alive, "its owner lives")
}

func TestR285_OneRecordHasOpencodesView(t *testing.T) {
	node := dialecttest.Node(t)
	result := rigOn(t, node).run("seq 3000")
	list, err := host.Ask(t.Context(), node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	page, err := node.Read(t.Context(), messages.ReadOutput{Job: messages.JobID(jobs[0].UID), Stream: messages.Stdout, View: messages.View{Kind: messages.ViewTailLine, Lines: 500}})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(result.Text, "--- Last 500 lines ---\n"+strings.TrimSuffix(page.Text, "\n")))
}
