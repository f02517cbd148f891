package opencode

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// transcript calls tools one by one, and writes what a front end gets of them.
type transcript struct {
	*rig
	strings.Builder
}

func (s *transcript) call(tool string, arguments args) dialect.Result {
	encoded, err := json.Marshal(arguments)
	require.NoError(s.t, err)
	result := s.rig.call(tool, arguments)
	fmt.Fprintf(s, "> %s %s\n%s\n", tool, encoded, result.Text)
	if result.IsError {
		fmt.Fprintln(s, "--- error")
	}
	if result.Details != nil {
		text, err := json.Marshal(result.Details)
		require.NoError(s.t, err)
		fmt.Fprintf(s, "--- %s\n", text)
	}
	fmt.Fprintln(s)
	return result
}

func (s *transcript) golden(name string) {
	s.t.Helper()
	dialecttest.Golden(s.t, "opencode/"+name, s.String(),
		dialecttest.Scrub{What: regexp.MustCompile(regexp.QuoteMeta(s.dir)), By: "/session"},
		dialecttest.Scrub{What: regexp.MustCompile(regexp.QuoteMeta(s.temp)), By: "/tmp"},
		dialecttest.Scrub{What: regexp.MustCompile(`bash-\d+-`), By: "bash-#-"},
		dialecttest.Scrub{What: regexp.MustCompile(`"(start_time|end_time)":\d+`), By: `"$1":#`},
		dialecttest.Scrub{What: regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`), By: "TASK"},
		dialecttest.Scrub{What: regexp.MustCompile(`/\S+/text: line`), By: "TEXT: line"},
	)
}

func TestGoldenBash(t *testing.T) {
	s := &transcript{rig: newRig(t, settings(func(s *Settings) { s.TruncatedHeadLines, s.TruncatedTailLines = 3, 2 }))}
	for _, command := range []string{
		"echo out; echo err >&2", "true", "ls missing", "no-such-program", "echo 'unterminated", "kill -KILL $$",
		"seq 8432", "seq 8432 >&2; exit 2", "seq 3000; seq 4000 >&2", "head -c 60000 /dev/zero | tr '\\0' x | cut -c1-20; echo end",
	} {
		s.call("bash", args{"command": command, "description": "try it"})
	}
	s.call("bash", args{"command": "echo begun; sleep 60", "description": "take long", "timeout": 1000})
	s.call("bash", args{"command": "pwd", "description": "where", "workdir": "missing"})
	s.call("bash", args{"command": "pwd"})
	s.call("bash", args{"command": "pwd", "description": "x", "run_in_background": true})
	result := s.call("bash", args{"command": "seq 2001", "description": "count"})
	s.call("view", args{"file_path": details(t, result).TempFilePath, "offset": 998, "limit": 3})
	s.call("view", args{"file_path": details(t, result).TempFilePath, "offset": 1999})
	s.call("view", args{"file_path": details(t, result).TempFilePath, "offset": 5000})
	s.call("view", args{"file_path": "nothing.txt"})
	s.golden("bash.txt")
}

func TestGoldenTasks(t *testing.T) {
	data := t.TempDir()
	s := &transcript{rig: newRig(t, settings(func(s *Settings) { s.Background, s.DataDir = true, data }))}
	result := s.call("bash", args{"command": "sleep 600", "description": "a server", "run_in_background": true})
	s.call("bash", args{"command": "sleep 30", "description": "wait"})
	s.call("tasklist", args{})
	s.call("taskstop", args{"task_id": details(t, result).TaskID})
	fmt.Fprintf(s, "< %s\n\n", (<-s.told).Text)
	s.call("taskstop", args{"task_id": details(t, result).TaskID})
	s.call("tasklist", args{})
	text := strings.ReplaceAll(s.String(), data, "/data")
	s.Reset()
	s.WriteString(text)
	s.golden("tasks.txt")
}

func TestGoldenTools(t *testing.T) {
	s := &transcript{rig: newRig(t, settings(func(s *Settings) { s.Background = true }))}
	for _, tool := range s.Tools() {
		fmt.Fprintf(s, "%s (%s)\n%s\n%s\n\n", tool.Name, tool.Title, tool.Description, tool.Schema)
	}
	s.golden("tools.txt")
}

func TestGoldenErrors(t *testing.T) {
	s := &transcript{rig: newRig(t, settings(func(s *Settings) { s.Background, s.Banned = true, []string{"curl"} }))}
	s.write("main.go", "")
	s.write("image.png", "")
	for _, a := range []args{
		{"description": "x"},
		{"command": "curl x", "description": "x"},
		{"command": 7},
		{"command": "true", "description": "x", "colour": 1},
		{"command": "true", "description": "x", "workdir": "/dev/null"},
	} {
		s.call("bash", a)
	}
	for _, a := range []args{{}, {"file_path": "x", "offset": -1}, {"file_path": "main.g"}, {"file_path": "/dev"}, {"file_path": "/dev/null"}, {"file_path": "image.png"}, {"file_path": "main.go"}} {
		s.call("view", a)
	}
	s.call("tasklist", args{})
	s.call("taskstop", args{})
	s.call("taskstop", args{"task_id": "x"})
	result := s.call("bash", args{"command": "exit 0", "description": "a task without a file", "run_in_background": true})
	fmt.Fprintf(s, "< %s\n\n", (<-s.told).Text)
	require.NotEmpty(t, details(t, result).TaskID)
	for _, job := range []messages.Record{
		{End: messages.End{Outcome: messages.Cancelled}},
		{End: messages.End{Outcome: messages.Cancelled, Cause: messages.Cause{Reason: "why"}}},
		{End: messages.End{Outcome: messages.Lost, Err: messages.Error{Message: "why"}}},
		{End: messages.End{Outcome: messages.FailedToStart, Err: messages.Error{Message: "why"}}},
		{State: messages.Running},
	} {
		fmt.Fprintf(s, "%s\n", s.s.ending(job))
	}
	fmt.Fprintf(s, "%s\n%s\n%s\n", notKept(12345, "stdout"), s.unread(dialect.Log{Ctx: t.Context(), Stream: messages.Stderr}, context.Canceled).note, fmt.Sprintf(textTasksMany, maxRunning))
	s.golden("errors.txt")
}
