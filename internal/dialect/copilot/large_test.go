package copilot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/dialect"
)

func TestR227_ALargeOutputIsInAFile(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		exact := r.sync("head -c 20480 /dev/zero | tr '\\0' x") // the threshold itself is shown whole
		assert.Equal(t, strings.Repeat("x", 20480)+"\n<exited with exit code 0>", exact.Text)
		assert.NotContains(t, dialecttest.Fields(t, exact.Details), "largeOutputFilePath")

		result := r.sync("head -c 20480 /dev/zero | tr '\\0' é; printf 'and the end'")
		d := details(t, result)
		assert.Regexp(t, `^`+r.files+`/s1/troupe-tool-output-\d{13}-[a-z0-9]{6}\.txt$`, d.LargeOutputFilePath)
		assert.Equal(t, d.LargeOutputFilePath, dialecttest.Fields(t, result.Details)["largeOutputFilePath"])
		kept, err := os.ReadFile(d.LargeOutputFilePath)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(string(kept), "and the end"))
		assert.Equal(t, int64(len(kept)), d.OutputBytes)
		assert.Greater(t, d.OutputBytes, int64(20480))
		assert.Equal(t, 128, len([]rune(d.OutputTail)))
		assert.True(t, strings.HasSuffix(d.OutputTail, "and the end"))
		_, preview, ok := strings.Cut(result.Text, "(the first 500 characters):\n")
		require.True(t, ok)
		shown, _, _ := strings.Cut(preview, "\n")
		assert.Len(t, []rune(shown), 500)
	})
	for _, name := range []string{"TROUPE_LARGE_OUTPUT_THRESHOLD_BYTES", "COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES"} {
		r := newRig(t, env(name+"=10"))
		assert.Equal(t, "123456789\n<exited with exit code 0>", r.sync("echo 123456789").Text)
		assert.True(t, strings.HasPrefix(r.sync("echo 1234567890").Text, "Output too large"))
		assert.Equal(t, "1234567890\n<exited with exit code 0>", newRig(t, env(name+"=-1")).sync("echo 1234567890").Text)
	}
	t.Run("a running command's file grows", func(t *testing.T) {
		r := newRig(t)
		r.async("a", "seq 10000; echo half; read _; seq 5; echo whole")
		r.wrote("a", "half")
		path := details(t, r.read("a", 0)).LargeOutputFilePath
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(string(before), "10000\nhalf\n"))
		r.write("a", "\n")
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(after), string(before)))
		assert.True(t, strings.HasSuffix(string(after), "5\nwhole\n"))
	})
}

func TestR228_TheTextOfALargeOutput(t *testing.T) {
	assert.Equal(t, []string{"0 bytes", "1023 bytes", "1.0 KB", "20.5 KB", "1.0 MB", "2048.0 MB"},
		[]string{Size(0), Size(1023), Size(1024), Size(20992), Size(1 << 20), Size(2 << 30)})
	r := newRig(t)
	result := r.sync("seq 10000")
	head := ""
	for i := 1; len(head) < 500; i++ {
		head += fmt.Sprintln(i)
	}
	assert.Equal(t, "Output too large to read at once (47.7 KB). It was saved to: "+details(t, result).LargeOutputFilePath+"\n"+
		"Use grep on that file to find something, head or tail for its ends, view with a range of lines, or jq if it is JSON.\n"+
		"\n"+
		"Preview (the first 500 characters):\n"+head[:500]+"\n"+
		"<exited with exit code 0>", result.Text)

	nowhere := newRig(t, func(o *Options) { o.Files = nil }).sync("seq 10000")
	assert.True(t, strings.HasPrefix(nowhere.Text, "Output too large to read at once (47.7 KB), and no file could be written. "+
		"Run the command again with its output in a file, and use grep, head, tail, view with a range, or jq on that.\n\nPreview (the first 500 characters):\n1\n"), nowhere.Text[:200])
	assert.True(t, strings.HasSuffix(nowhere.Text, "\n<exited with exit code 0>"))
}

func TestR229_TheFilesGoWithTheSession(t *testing.T) {
	r := newRig(t)
	path := details(t, r.sync("seq 10000")).LargeOutputFilePath
	require.FileExists(t, path)
	require.NoError(t, r.Close(context.Background()))
	assert.NoFileExists(t, path)
	for _, name := range []string{"TROUPE_KEEP_TEMP_FILES", "COPILOT_KEEP_TEMP_FILES"} {
		r = newRig(t, env(name+"=true"))
		path = details(t, r.sync("seq 10000")).LargeOutputFilePath
		require.NoError(t, r.Close(context.Background()))
		assert.FileExists(t, path)
		assert.NotEqual(t, filepath.Dir(path), r.dir)
	}
	r = newRig(t, env("TROUPE_KEEP_TEMP_FILES=1"))
	path = details(t, r.sync("seq 10000")).LargeOutputFilePath
	require.NoError(t, r.Close(context.Background()))
	assert.NoFileExists(t, path)
}
