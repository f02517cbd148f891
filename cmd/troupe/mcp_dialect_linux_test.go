package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/copilot"
	"troupe/internal/gateway/mcp"
)

// says calls a tool of a dialect, and gives what a model sees.
func (a *agent) says(tool string, args params) (texts []string, failed bool, details map[string]any) {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	require.NoError(a.t, err)
	require.Nil(a.t, r.StructuredContent, "the text is all that a model sees")
	for _, c := range r.Content {
		texts = append(texts, c.(*sdk.TextContent).Text)
	}
	details, _ = r.Meta[mcp.DetailsKey].(map[string]any)
	return texts, r.IsError, details
}

func toolNames(a *agent) (names []string) {
	a.t.Helper()
	list, err := a.ListTools(a.t.Context(), nil)
	require.NoError(a.t, err)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// An agent that knows oh-my-pi's tools finds them: their names, parameters and texts.
func TestMCPSpeaksOMP(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	dir := d.file("workspace")
	skills := filepath.Join(dir, "skills", "lint")
	require.NoError(t, os.MkdirAll(skills, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(skills, "SKILL.md"), []byte("how to lint\n"), 0o600))
	server := d.server("--dialect", "omp", "--tools", "read")
	server.Dir = dir
	server.Env = append(server.Env, "TMPDIR="+dir, "TROUPE_SOCKET="+d.socket(), d.configures("[omp]\nintercept = true\nskills = ['"+filepath.Dir(skills)+"']\n[[omp.rules]]\npattern = '^cat '\ntool = 'read'\nmessage = 'Use read.'\n"))
	a := server.speaks(withSessions, nil)
	require.Equal(t, []string{"bash", "job"}, toolNames(a))

	said, failed, _ := a.says("bash", params{"command": "echo out; echo err >&2; exit 3"})
	require.True(t, failed)
	require.True(t, strings.HasPrefix(said[0], "out\nerr\n"), said)
	require.True(t, strings.HasSuffix(said[0], "\n\nCommand exited with code 3"), said)
	said, failed, details := a.says("bash", params{"command": "cat x"})
	require.True(t, failed)
	require.Equal(t, []string{"Blocked: Use read.\n\ncat x"}, said)
	require.Equal(t, "read", details["suggestedTool"])
	said, _, _ = a.says("bash", params{"command": "head -n 1 skill://lint"})
	require.Contains(t, said[0], "how to lint")

	said, failed, details = a.says("bash", params{"command": "seq 1 30000"})
	require.False(t, failed)
	require.Contains(t, said[0], "Full: artifact://0]")
	require.Equal(t, "0", details["meta"].(map[string]any)["truncation"].(map[string]any)["artifactId"])
	said, _, _ = a.says("bash", params{"command": "wc -l < artifact://0"})
	require.True(t, strings.HasPrefix(said[0], "30000\n"), said)

	said, _, details = a.says("bash", params{"command": "echo done", "async": true})
	require.True(t, strings.HasPrefix(said[0], "Background job bg_1 started: echo done\n"), said)
	require.Equal(t, "running", details["async"].(map[string]any)["state"])
	said, _, _ = a.says("job", params{"poll": []string{"bg_1"}})
	require.Contains(t, said[0], "done")
	require.Len(t, said, 1, "what a tool has told is not told again")

	files, err := filepath.Glob(filepath.Join(dir, "troupe-*", "sessions", "mcp-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, a.in.Close())
	server.ends(0)
	require.NoDirExists(t, files[0], "files go with their session")
}

// An agent that knows Copilot CLI's shell suite finds it, with a terminal and without.
func TestMCPSpeaksCopilot(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.server("--dialect", "copilot").speaks(withSessions, nil)
	require.ElementsMatch(t, []string{"bash", "read_bash", "write_bash", "stop_bash", "list_bash"}, toolNames(a))
	said, failed, _ := a.says("bash", params{"command": "echo hi; exit 4", "description": "fails"})
	require.True(t, failed)
	require.Equal(t, []string{"hi\n<command with shellId: 0 exited with code 4; its shell is closed>"}, said)

	said, _, _ = a.says("bash", params{"command": "read x; echo got $x", "description": "asks", "mode": "async", "shellId": "mine"})
	require.Equal(t, []string{"<command started in background with shellId: mine>"}, said)
	said, _, details := a.says("write_bash", params{"shellId": "mine", "input": "yes{enter}", "delay": 10})
	require.Contains(t, said[0], "got yes")
	require.Equal(t, 0.0, details["exitCode"])
	require.Len(t, said, 1, "what a tool has told is not told again")
	said, _, _ = a.says("list_bash", nil)
	require.Len(t, said, 1)
	said, _, _ = a.says("bash", params{"command": "true", "description": "asks", "mode": "async", "shellId": "other"})
	notices := said[1:] // it may have come with the word that it began
	settles(t, "notices that have not come", 0, func() int {
		if len(notices) == 0 {
			said, _, _ = a.says("list_bash", nil)
			notices = said[1:]
		}
		return 1 - len(notices)
	})
	require.Equal(t, []string{"The command \"asks\" (id other) completed. Use read_bash with this id to get its output."}, notices)
	said, failed, _ = a.says("bash", params{"command": "pkill -f x", "description": "kills"})
	require.True(t, failed)
	require.Contains(t, said[0], "Use kill <PID> instead")
	said, failed, _ = a.says("bash", params{"command": "kill -9 " + strconv.Itoa(a.server.Process.Pid), "description": "kills"})
	require.True(t, failed)
	require.Contains(t, said[0], strconv.Itoa(a.server.Process.Pid))
	said, failed, details = a.says("read_bash", params{"shellId": "another", "delay": 1})
	require.True(t, failed)
	require.Contains(t, said[0], "Active shell sessions:\n- mine")
	require.Equal(t, "shell_unknown", details["telemetry"].(map[string]any)["shell_error_category"])

	server := d.server("--dialect", "copilot")
	server.Env = append(server.Env, d.configures("[copilot]\nprocess = true\n"))
	require.NotContains(t, toolNames(server.speaks(withSessions, nil)), "write_bash")
}

// A person moves a command to the background that a call waits for. The call returns once, and
// the list tells a program what can be moved, which shells there are, and which were missing
//
func TestMCPCopilotPromotesForAPerson(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.server("--dialect", "copilot").speaks(withSessions, nil)
	list := func() (all copilot.Listing) {
		_, _, details := a.says("list_bash", nil)
		text, err := json.Marshal(details)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &all))
		return all
	}
	open := gate(t, d.file("gate"))
	type answer struct {
		said *sdk.CallToolResult
		err  error
	}
	answered := make(chan answer, 2)
	go func() {
		said, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "bash", Arguments: params{
			"command": "read x < " + d.file("gate"), "description": "builds", "initial_wait": 600,
		}})
		answered <- answer{said, err}
	}()
	eventually(t, "the command cannot be moved", func() bool {
		all := list()
		return len(all.Shells) == 1 && all.Shells[0].CanPromoteToBackground
	})
	q := d.beside("ps", "-q").start()
	job := q.line()
	q.ends(0)
	d.beside("promote", job).start().ends(0)
	moved := <-answered
	require.NoError(t, moved.err)
	require.Contains(t, moved.said.Content[0].(*sdk.TextContent).Text, "was moved to background by the user")
	_, failed, _ := a.says("read_bash", params{"shellId": "another", "delay": 1})
	require.True(t, failed)
	all := list()
	require.False(t, all.Shells[0].CanPromoteToBackground)
	require.Equal(t, []string{"0"}, all.CurrentExecutions)
	require.Equal(t, map[string]int64{"read/shell_unknown": 1}, all.Counts)
	open()
	require.Empty(t, answered)
}

// An agent that knows opencode's tools finds them; a long output is a file of the
// session, whose pages view shows.
func TestMCPSpeaksOpenCode(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	files := d.file("files")
	require.NoError(t, os.Mkdir(files, 0o700))
	server := d.server("--dialect", "opencode")
	server.Env = append(server.Env, d.configures("[opencode]\ntemp_dir = '"+files+"'\nhead_lines = 2\ntail_lines = 1\n"))
	a := server.speaks(withSessions, nil)
	require.ElementsMatch(t, []string{"bash", "view"}, toolNames(a))
	said, failed, details := a.says("bash", params{"command": "seq 1 9000; echo e >&2", "description": "counts"})
	require.False(t, failed)
	require.True(t, strings.HasPrefix(said[0], "<stdout truncated: 9,000 lines total>\nFull output saved to: "+files+"/opencode-"), said)
	require.Contains(t, said[0], "--- First 2 lines ---\n1\n2\n\n--- Last 1 lines ---\n9000\n\ne")
	file := details["temp_file_path"].(string)
	said, _, _ = a.says("view", params{"file_path": file, "offset": 4000, "limit": 2})
	require.Contains(t, said[0], "  4001|4001\n  4002|4002\n")
	require.NoError(t, a.in.Close())
	server.ends(0)
	require.NoDirExists(t, filepath.Dir(file))
}

// The output that a result of oh-my-pi's bash names is a resource, whole or in parts.
func TestMCPArtifactOfOMPIsAResource(t *testing.T) {
	t.Parallel()
	a := serves(t, nil).agent(withSessions, nil, "--dialect", "omp")
	templates, err := a.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, template := range templates.ResourceTemplates {
		names = append(names, template.URITemplate)
	}
	require.Contains(t, names, "artifact://{id}{?offset,limit}")
	_, err = a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "artifact://0"})
	require.Error(t, err, "nothing was long yet")
	said, _, _ := a.says("bash", params{"command": "seq 20000"})
	require.Contains(t, said[0], "Full: artifact://0")
	whole := a.resource("artifact://0")
	require.True(t, strings.HasPrefix(whole.Text, "1\n2\n") && strings.HasSuffix(whole.Text, "\n20000\n"))
	require.EqualValues(t, []any{108_894, 108_894}, []any{int(whole.Meta["troupe/next"].(float64)), int(whole.Meta["troupe/size"].(float64))})
	require.Equal(t, "2\n3\n", a.resource("artifact://0?offset=2&limit=4").Text)
	require.Empty(t, a.resource("artifact://0?offset=200000").Text)
	for _, uri := range []string{"artifact://1", "artifact://x", "artifact://..", "artifact://0?offset=-1"} {
		_, err = a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		require.Error(t, err, uri)
	}
}

// What today's oh-my-pi and Copilot CLI send is understood.
func TestMCPTakesWhatTodaysVersionsSend(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	omp := d.agent(withSessions, nil, "--dialect", "omp")
	said, failed, details := omp.says("bash", params{"command": "echo done", "timeout": 0})
	require.False(t, failed)
	require.Equal(t, true, details["timeoutDisabled"], said)
	said, failed, _ = omp.says("bash", params{"command": "echo up; exec sleep 600", "name": "web", "ready": params{"log": "up", "timeout": 30}})
	require.False(t, failed)
	require.Contains(t, said[0], "It is ready.")
	said, _, _ = omp.says("bash", params{"command": "V=5; echo $A", "env": params{"A": "1"}})
	require.True(t, strings.HasPrefix(said[0], "1\n"), said)
	said, _, _ = omp.says("bash", params{"command": "echo $V-$A"})
	require.True(t, strings.HasPrefix(said[0], "5-\n"), said)

	copilot := d.agent(withSessions, nil, "--dialect", "copilot")
	said, failed, details = copilot.says("bash", params{"command": "echo hi"})
	require.False(t, failed)
	require.Equal(t, []string{"hi\n<exited with exit code 0>"}, said)
	require.Equal(t, "0", details["shellId"])
	said, _, _ = copilot.says("bash", params{"command": "sleep 600", "mode": "async"})
	require.Equal(t, []string{"<command started in background with shellId: 1>"}, said)
}

// Each workdir of opencode has a shell that stays.
func TestMCPOpenCodeKeepsAShell(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.agent(withSessions, nil, "--dialect", "opencode")
	bash := func(command, workdir string) string {
		said, _, _ := a.says("bash", params{"command": command, "description": "try it", "workdir": workdir})
		return said[0]
	}
	require.Equal(t, "no output", bash("export V=here; cd /usr", ""))
	require.Equal(t, "/usr here\n", bash(`echo "$PWD $V"`, ""))
	require.Equal(t, "/tmp \n", bash(`echo "$PWD $V"`, "/tmp"))
	a.leaves()
}
