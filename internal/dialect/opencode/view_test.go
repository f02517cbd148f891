package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/messages"
)

func (r *rig) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestR184_ViewShowsAWindowOfAFile(t *testing.T) {
	r := newRig(t)
	path := r.write("n.txt", numbers(1, 5000))
	text := r.call("view", args{"file_path": path}).Text
	require.Equal(t, 2000, strings.Count(text, "|"))
	require.Contains(t, text, "beyond line 2000")
	text = r.call("view", args{"file_path": path, "offset": 4997, "limit": 2}).Text
	require.Equal(t, "<file>\n  4998|4998\n  4999|4999\n\n(File has more lines. Use 'offset' parameter to read beyond line 4999)\n</file>\n", text)

	wide := r.write("w.txt", strings.Repeat(strings.Repeat("w", 1999)+"\n", 1000))
	text = r.call("view", args{"file_path": wide}).Text
	require.LessOrEqual(t, len(text), 250<<10+200)
	shown := strings.Count(text, "|")
	require.Equal(t, 127, shown, "as many as 250 KB have room for")
	require.Contains(t, text, fmt.Sprintf("beyond line %d)", shown))

	cut := r.write("c.txt", strings.Repeat("é", 2001)+"\nnext\n")
	require.Equal(t, "<file>\n     1|"+strings.Repeat("é", 2000)+"...\n     2|next\n</file>\n", r.call("view", args{"file_path": cut}).Text)
}

func TestR185_ViewsShapeAndItsErrors(t *testing.T) {
	r := newRig(t)
	r.write("main.go", "package main\n")
	r.write("other_main.go", "")
	r.write("image.png", "x")
	require.Equal(t, "<file>\n     1|package main\n</file>\n", r.call("view", args{"file_path": "main.go"}).Text)
	for name, c := range map[string]struct {
		arguments args
		says      []string
	}{
		"no path":   {args{}, []string{"file_path is missing; give the path of a file"}},
		"missing":   {args{"file_path": "main"}, []string{"File not found: " + filepath.Join(r.dir, "main"), filepath.Join(r.dir, "main.go"), "other_main.go"}},
		"directory": {args{"file_path": "."}, []string{"Path is a directory, not a file: " + r.dir}},
		"image":     {args{"file_path": "image.png"}, []string{"image", "image.png"}},
		"offset":    {args{"file_path": "main.go", "offset": -1}, []string{"-1"}},
		"device":    {args{"file_path": "/dev/zero"}, []string{"/dev/zero"}},
	} {
		result := r.call("view", c.arguments)
		require.True(t, result.IsError, name)
		for _, says := range c.says {
			require.Contains(t, result.Text, says, name)
		}
	}
	past := r.call("view", args{"file_path": "main.go", "offset": 7})
	require.Equal(t, "<file>\n(The file has 1 lines; offset 7 is past its end)\n</file>\n", past.Text)
	require.Equal(t, "<file>\n(The file is empty)\n</file>\n", r.call("view", args{"file_path": "other_main.go"}).Text)
}

func TestR186_TheSizeOfAFileNeverMatters(t *testing.T) {
	r := newRig(t)
	path := r.write("big.txt", strings.Repeat(strings.Repeat("x", 99)+"\n", 20_000)+strings.Repeat("long", 50_000)+"\nlast\n")
	text := r.call("view", args{"file_path": path, "offset": 19_999}).Text
	require.Equal(t, "<file>\n 20000|"+strings.Repeat("x", 99)+"\n 20001|"+strings.Repeat("long", 500)+"...\n 20002|last\n</file>\n", text)
	exact := r.write("exact.txt", numbers(1, 2000))
	text = r.call("view", args{"file_path": exact}).Text
	require.NotContains(t, text, "more lines", "the last line is shown: nothing follows")
	require.Contains(t, text, "  2000|2000\n</file>")
}

func TestR187_ALongOutputIsReadByViewAndAShortOneIsAsBefore(t *testing.T) {
	r := newRig(t)
	result := r.run(`for i in $(seq 3000); do echo "línea $i 漢字 🎉"; done`)
	m := details(t, result)
	require.Contains(t, result.Text, m.TempFilePath)
	require.Equal(t, 3000, strings.Count(content(t, m.TempFilePath), "\n"))
	require.NotContains(t, result.Text, "\uFFFD")
	require.Contains(t, r.call("view", args{"file_path": m.TempFilePath, "offset": 1499, "limit": 1}).Text, "  1500|línea 1500 漢字 🎉\n")
	before := r.saved()
	require.Equal(t, "small\n", r.run("echo small").Text)
	require.Equal(t, before, r.saved())
	require.NoError(t, r.Close(t.Context()))
	require.NoFileExists(t, m.TempFilePath)
}

func TestR288_ViewsLimitIsItsWindow(t *testing.T) {
	r := newRig(t)
	path := r.write("big.txt", strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000))
	require.False(t, r.call("view", args{"file_path": path, "limit": 10_000}).IsError, "1 MB is no reason to refuse")
	require.LessOrEqual(t, len(r.call("view", args{"file_path": path, "limit": 10_000}).Text), 250<<10+200)
}

func TestR183_BackgroundTasks(t *testing.T) {
	data := t.TempDir()
	r := newRig(t, settings(func(s *Settings) { s.Background, s.DataDir = true, data }))
	gate := filepath.Join(r.dir, "gate")
	require.Equal(t, "There are no background tasks.", r.call("tasklist", args{}).Text)
	result := r.call("bash", args{"command": "mkfifo " + gate + "; echo out; echo err >&2; cat " + gate + "; exit 5", "description": "x", "run_in_background": true})
	m := details(t, result)
	require.Equal(t, filepath.Join(data, "tasks", m.TaskID+".out"), m.TempFilePath)
	require.Contains(t, result.Text, m.TaskID)
	require.Contains(t, r.call("tasklist", args{}).Text, m.TaskID+" [running] mkfifo")

	refused := r.run("sleep 5")
	require.True(t, refused.IsError)
	require.Contains(t, refused.Text, m.TaskID)
	require.Equal(t, "more\n", r.run("sleep 0.01; echo more").Text, "that is no pure wait")

	require.Equal(t, "no output", r.run("until [ -p "+gate+" ]; do :; done; echo go > "+gate).Text)
	n := <-r.told
	require.Equal(t, Notice{TaskID: m.TaskID, Tag: "task-completed", ExitCode: 5, OutputFile: m.TempFilePath, Text: n.Text}, n)
	require.Contains(t, n.Text, "Exit code 5")
	require.Equal(t, "out\nerr\ngo\n", content(t, m.TempFilePath))
	require.Contains(t, r.call("tasklist", args{}).Text, "[failed]")
	require.Contains(t, r.call("taskstop", args{"task_id": m.TaskID}).Text, "ended before")

	second := details(t, r.call("bash", args{"command": "sleep 600", "description": "x", "run_in_background": true})).TaskID
	require.Contains(t, r.call("taskstop", args{"task_id": second}).Text, "is stopped")
	require.Equal(t, second, (<-r.told).TaskID)
	require.Contains(t, r.call("tasklist", args{}).Text, second+" [stopped]")
	require.True(t, r.call("taskstop", args{"task_id": "x"}).IsError)
	require.True(t, r.call("taskstop", args{}).IsError)

	third := details(t, r.call("bash", args{"command": "sleep 600", "description": "x", "run_in_background": true})).TaskID
	require.NoError(t, r.Close(t.Context()))
	r.beside.Wait()
	require.Empty(t, r.told, "a session that has ended tells nobody")
	require.Equal(t, filepath.Join(data, "tasks", m.TaskID+".out"), m.TempFilePath)
	require.FileExists(t, m.TempFilePath)
	end, err := host.Ask(t.Context(), r.options.Host, messages.WaitJobs{Jobs: []messages.JobID{messages.JobID(third)}})
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, end.Jobs[0].End.Outcome)

	off := newRig(t)
	require.Len(t, off.Tools(), 2)
	require.True(t, off.call("bash", args{"command": "true", "description": "x", "run_in_background": true}).IsError)
}
