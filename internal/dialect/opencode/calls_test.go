package opencode

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

func TestR178_TheMetadataHasTheFieldsOfTheFamily(t *testing.T) {
	r := newRig(t)
	small := dialecttest.Fields(t, r.run("exit 3").Details)
	require.Len(t, small, 4)
	require.Equal(t, "a test", small["description"])
	require.InDelta(t, 3, small["exit_code"], 0)
	require.Greater(t, small["start_time"], 1.6e12)
	require.GreaterOrEqual(t, small["end_time"], small["start_time"])

	both := dialecttest.Fields(t, r.run("seq 3000; seq 3000 >&2").Details)
	require.Equal(t, both["stdout_file_path"], both["temp_file_path"])
	require.NotEmpty(t, both["stderr_file_path"])
	only := dialecttest.Fields(t, r.run("seq 3000 >&2").Details)
	require.Equal(t, only["stderr_file_path"], only["temp_file_path"])
	require.NotContains(t, only, "stdout_file_path")
	text, err := json.Marshal(BashResponseMetadata{})
	require.NoError(t, err)
	require.JSONEq(t, `{"start_time":0,"end_time":0,"exit_code":0}`, string(text))
}

func TestR179_TheNetCutsAtALineAndThePreviewIsBelowIt(t *testing.T) {
	s := Settings{tokens: 10}.withDefaults()
	require.Equal(t, 1_200_000, Settings{}.withDefaults().net())
	require.Equal(t, strings.Repeat("a", 40), s.caught(strings.Repeat("a", 40)))
	require.Equal(t, strings.Repeat("é", 40), s.caught(strings.Repeat("é", 40)), "characters, not bytes")
	require.Equal(t, strings.Repeat("a", 30)+"\n\n[Output truncated due to size limit...]", s.caught(strings.Repeat("a", 30)+"\n"+strings.Repeat("b", 30)))

	r := newRig(t)
	result := r.run(`yes "$(printf '%02000d' 1)" | head -n 3000; yes "$(printf '%02000d' 2)" | head -n 3000 >&2; exit 4`)
	require.Less(t, len(result.Text), 1_200_000)
	require.NotContains(t, result.Text, "[Output truncated due")
	require.True(t, strings.HasSuffix(result.Text, "\nExit code 4"))
}

func TestR180_TheDescriptionTellsOfFilesAndView(t *testing.T) {
	tool := newRig(t).Tools()[0]
	require.Equal(t, "bash", tool.Name)
	require.Contains(t, tool.Description, "full output is saved to a file")
	require.Contains(t, tool.Description, "view, by offset and limit")
	require.Contains(t, tool.Description, "2,000 lines or 51,200 bytes")
}

func TestR181_ParametersAndTheResultOfACommand(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		arguments args
		says      string
	}{
		"no command":     {args{"description": "x"}, "command is missing; give the command to run"},
		"blank command":  {args{"command": " ", "description": "x"}, "command is missing; give the command to run"},
		"no description": {args{"command": "true"}, "description is missing; say in a few words what the command does"},
		"bad type":       {args{"command": 7, "description": "x"}, "command is a number"},
		"unknown":        {args{"command": "true", "description": "x", "colour": "red"}, "colour"},
		"bad workdir":    {args{"command": "true", "description": "x", "workdir": "missing"}, "Working directory does not exist"},
	} {
		result := r.call("bash", c.arguments)
		require.True(t, result.IsError, name)
		require.Contains(t, result.Text, c.says, name)
	}
	require.EqualValues(t, []int64{120000, 120000, 5, 600000, 600000}, []int64{timeoutOf(0), timeoutOf(-1), timeoutOf(5), timeoutOf(600000), timeoutOf(600001)})

	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "sub"), 0o700))
	require.Equal(t, filepath.Join(r.dir, "sub")+"\n", r.call("bash", args{"command": "pwd", "description": "x", "workdir": "sub"}).Text)
	require.Equal(t, "out\nerr\nExit code 3", r.run("printf out; printf err >&2; exit 3").Text)
	require.Equal(t, "no output\n"+textShellLost, r.run("true").Text)
	require.False(t, r.run("(exit 3)").IsError)

	late := r.call("bash", args{"command": "echo begun; sleep 60", "description": "x", "timeout": 1000})
	require.Equal(t, "begun\nCommand was aborted before completion: it took longer than 1000 ms", late.Text)
	require.Equal(t, 124, details(t, late).ExitCode)
}

// Original are the settings of opencode before outputs had files: what is too
// long is cut all the same at lines.
func Original() Settings {
	return Settings{
		NoFiles: true,
		Banned: []string{
			"alias", "curl", "curlie", "wget", "axel", "aria2c", "nc", "telnet", "lynx", "w3m", "links", "httpie", "xh", "http-json", "http-prompt",
			"chrome", "firefox", "safari",
		},
	}
}

func TestR182_WordsAreBannedAndNothingIsCutByBytes(t *testing.T) {
	require.EqualValues(t, 120_000, timeoutOf(0))
	require.EqualValues(t, 600_000, timeoutOf(1<<40))
	r := newRig(t, settings(func(s *Settings) {
		temp := s.TempDir
		*s = Original()
		s.TempDir = temp
	}))
	for command, word := range map[string]string{
		"curl http://x": "curl", "cd / && wget x": "wget", `"nc" -l 1`: "nc", "echo $(telnet x)": "telnet", "alias a=b": "alias", "CURL x": "CURL",
	} {
		result := r.run(command)
		require.True(t, result.IsError, command)
		require.Contains(t, result.Text, `"`+word+`"`)
	}
	require.Equal(t, "curl\n", r.run("echo curl").Text)
	text := r.run(`yes "$(printf 'ß%.0s' $(seq 40))" | head -n 1900`).Text
	require.LessOrEqual(t, len(text), 51_300)
	require.Contains(t, text, "lines truncated]")
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		require.True(t, l == "" || l == strings.Repeat("ß", 40) || strings.HasPrefix(l, "... ["), l)
	}
	require.NotEqual(t, "curl", bannedWord("curl x", nil))
}

func TestR283_OpencodesTimeoutEndsTheCommand(t *testing.T) {
	r := newRig(t)
	r.call("bash", args{"command": "sleep 60", "description": "x", "timeout": 100})
	list, err := host.Ask(t.Context(), r.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	require.Equal(t, messages.TimedOut, jobs[0].End.Outcome)
	require.Equal(t, 0, int(jobs[0].Timeout.Milliseconds())-100)
}

func TestR286_OpencodesStreamsAreApart(t *testing.T) {
	r := newRig(t)
	require.Equal(t, "1\n3\n2\n", r.run("echo 1; echo 2 >&2; echo 3").Text)
	list, err := host.Ask(t.Context(), r.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	require.Len(t, jobs[0].Output, 2)
}

func TestR287_OpencodesFilesAreRaw(t *testing.T) {
	r := newRig(t)
	result := r.run(`printf '\033[1m\377\r\n'; seq 3000`)
	require.Equal(t, "\x1b[1m\xff\r\n"+numbers(1, 3000), content(t, details(t, result).TempFilePath))
}

func TestR293_TheDirectoryIsNotOneThatAnotherHasPut(t *testing.T) {
	r := newRig(t)
	elsewhere := t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(r.temp, "opencode-s1")))
	path := details(t, r.run("seq 3000")).TempFilePath
	require.True(t, strings.HasPrefix(path, filepath.Join(r.temp, "opencode-s1-")), path)
	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAbortedCallStopsItsCommand(t *testing.T) {
	r := newRig(t)
	r.run("true") // its shell is there
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	r.beside.Go(func() {
		for fact := range r.options.Host.Events(t.Context(), messages.Filter{}, func() { close(begun) }) {
			if _, ok := fact.(messages.CommandStarted); ok {
				cancel()
				return
			}
		}
	})
	<-begun
	_, err := r.Bash(ctx, BashParams{Command: "sleep 60", Description: "x"})
	require.ErrorIs(t, err, context.Canceled)
	list, err := host.Ask(t.Context(), r.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	end, err := host.Ask(t.Context(), r.options.Host, messages.WaitJobs{Jobs: []messages.JobID{jobs[len(jobs)-1].ID}})
	require.NoError(t, err)
	require.Equal(t, messages.Cancelled, end.Jobs[0].End.Outcome)
}

func TestToolsRefuseWhatTheyDoNotKnow(t *testing.T) {
	r := newRig(t)
	for _, tool := range r.Tools() {
		result, err := tool.Call(t.Context(), dialect.Call{Arguments: json.RawMessage(`{"no such":1}`)})
		require.NoError(t, err)
		require.True(t, result.IsError, tool.Name)
	}
}
