package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/dialect"
)

// protocol is what a client writes to a server of a dialect, and what it gets, as it is on
// the wire but for the spaces.
type protocol struct {
	*scribe
	strings.Builder
}

// wired starts a server of a dialect beside a daemon, with a configuration.
func wired(d *process, dialect, config string) *protocol {
	d.t.Helper()
	server := d.server("--dialect", dialect)
	server.Dir = d.file("work")
	require.NoError(d.t, os.MkdirAll(server.Dir, 0o700))
	server.Env = append(server.Env, d.configures(config), "SHELL=/bin/bash")
	w := &protocol{scribe: server.scribed()}
	w.initialized()
	w.put("tools/list", nil, w.ask("tools/list", nil).Result)
	return w
}

// put writes one question and its answer.
func (w *protocol) put(method string, args any, result params) {
	w.t.Helper()
	fmt.Fprintf(w, "> %s", method)
	if args != nil {
		fmt.Fprintf(w, " %s", readable(w.t, args, ""))
	}
	fmt.Fprintf(w, "\n%s\n\n", readable(w.t, result, "  "))
}

// readable is JSON for a person; long texts lose their middle.
func readable(t *testing.T, v any, indent string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

// calls calls a tool, and writes what it answers.
func (w *protocol) calls(tool string, args params) params {
	w.t.Helper()
	s := w.call(tool, args)
	require.Nil(w.t, s.Error, tool)
	for _, content := range s.Result["content"].([]any) {
		it := content.(params)
		text, _ := it["text"].(string) // a link has none
		if all := strings.Split(text, "\n"); len(all) > 40 {
			it["text"] = strings.Join(all[:6], "\n") + fmt.Sprintf("\n(%d lines)\n", len(all)-11) + strings.Join(all[len(all)-5:], "\n")
		}
	}
	w.put(tool, args, s.Result)
	return s.Result
}

// callForNotice calls a tool until its answer has a notice, and writes that answer alone:
// which answer has it depends on timing.
func (w *protocol) callForNotice(tool string, args params) {
	w.t.Helper()
	var notices []any
	settles(w.t, "notices that have not come", 0, func() int {
		s := w.call(tool, args)
		require.Nil(w.t, s.Error, tool)
		notices = s.Result["content"].([]any)[1:]
		return 1 - len(notices)
	})
	fmt.Fprintf(w, "< with a result\n%s\n\n", readable(w.t, notices, "  "))
}

func (w *protocol) golden(d *process, name string) {
	w.t.Helper()
	dialecttest.GoldenAt(w.t, filepath.Join("testdata", "mcp", name+".txt"), w.String(),
		dialecttest.Scrub{What: regexp.MustCompile(regexp.QuoteMeta(d.dir)), By: "/srv"},
		dialecttest.Scrub{What: regexp.MustCompile(`troupe-\d+/`), By: "troupe-UID/"},
		dialecttest.Scrub{What: regexp.MustCompile(`(mcp[-/]|opencode-)wire-[a-z0-9]{6}`), By: "${1}wire-RAND"},
		dialecttest.Scrub{What: regexp.MustCompile(`("?wallTimeMs"?|"durationMs"|"duration_ms"|"pid"|"start_time"|"end_time"): \d+`), By: "$1: 0"},
		dialecttest.Scrub{What: regexp.MustCompile(`Wall time: \d+\.\d\d`), By: "Wall time: 0.00"},
		dialecttest.Scrub{What: regexp.MustCompile(`pid: \d+`), By: "pid: PID"},
		dialecttest.Scrub{What: regexp.MustCompile(`(after|for) \d+\.\d\d s\b`), By: "$1 N s"},
		dialecttest.Scrub{What: regexp.MustCompile(`elapsed: \d+ s`), By: "elapsed: N s"},
		dialecttest.Scrub{What: regexp.MustCompile(`\d{4}-\d\d-\d\dT[^"]+`), By: "TIME"},
		dialecttest.Scrub{What: regexp.MustCompile(`(output-)\d{13}-[a-z0-9]{6}`), By: "${1}MS-RAND"},
		dialecttest.Scrub{What: regexp.MustCompile(`bash-\d+-`), By: "bash-MS-"},
		dialecttest.Scrub{What: regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}(\b|_)`), By: "TASK${1}"},
		dialecttest.Scrub{What: regexp.MustCompile(`\b(shell|fails|build|long)-[0-9a-z]{8}\b`), By: "${1}-KEY"},
		dialecttest.Scrub{What: regexp.MustCompile(`duration_ms\\":\d+`), By: `duration_ms\":0`},
		dialecttest.Scrub{What: regexp.MustCompile(`/\S+/text: line`), By: "TEXT: line"},
	)
}

// What a client of oh-my-pi's tools gets, through the daemon and its live shells.
func TestGoldenMCPOfOMP(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := wired(d, "omp", "")
	bash := func(args params) { w.calls("bash", args) }
	bash(params{"command": "echo out; echo err >&2; export STATE=kept"})
	bash(params{"command": "echo $STATE; exit 3"})
	bash(params{"command": "echo <&9; ls missing"})
	bash(params{"command": "seq 20000"})
	bash(params{"command": "tail -n 2 artifact://0"})
	bash(params{"command": "seq 100 | tail -n 2"})
	bash(params{"command": "echo begun; sleep 60", "timeout": 1})
	bash(params{"command": "pwd", "cwd": "missing"})
	bash(params{"command": "pwd", "colour": "red"})
	open := gate(t, d.file("work/gate"))
	bash(params{"command": "read x < gate; echo built; exit 2", "async": true})
	w.calls("job", params{"list": true})
	bash(params{"command": "echo next"})
	open()
	w.callForNotice("bash", params{"command": "true"})
	w.calls("job", params{"poll": []string{"bg_1"}})
	w.calls("job", params{"cancel": []string{"bg_9"}})
	w.golden(d, "omp")
}

// What a client of opencode's tools gets, through the daemon.
func TestGoldenMCPOfOpenCode(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := wired(d, "opencode", "[opencode]\nhead_lines = 2\ntail_lines = 1\nbackground = true\ndata_dir = '"+d.file("data")+"'\ntemp_dir = '"+d.file("tmp")+"'\n")
	bash := func(args params) params {
		args["description"] = "try it"
		return w.calls("bash", args)
	}
	bash(params{"command": "echo out; echo err >&2"})
	bash(params{"command": "exit 3"})
	r := bash(params{"command": "seq 9000"})
	details := r["_meta"].(params)["troupe/details"].(params)
	w.calls("view", params{"file_path": details["temp_file_path"], "offset": 4000, "limit": 2})
	bash(params{"command": "echo begun; sleep 60", "timeout": 500})
	w.calls("bash", params{"command": "pwd"})
	w.calls("view", params{"file_path": "missing"})
	open := gate(t, d.file("work/gate"))
	bash(params{"command": "read x < gate; echo built; exit 2", "run_in_background": true})
	w.calls("tasklist", params{})
	open()
	w.callForNotice("bash", params{"command": "true", "description": "try it"})
	w.calls("tasklist", params{})
	w.golden(d, "opencode")
}

// What a client of Copilot CLI's shell suite gets, through the daemon and its live
// shells on terminals.
func TestGoldenMCPOfCopilot(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := wired(d, "copilot", "[copilot]\ninitial_wait = '500ms'\n")
	bash := func(args params) {
		args["description"] = "Try it"
		w.calls("bash", args)
	}
	bash(params{"command": "echo out; echo err >&2", "initial_wait": 60})
	bash(params{"command": "exit 3", "initial_wait": 60})
	bash(params{"command": "seq 10000", "initial_wait": 60})
	bash(params{"command": "pkill node"})
	open := gate(t, d.file("work/gate"))
	bash(params{"command": "read x < gate; echo built; cd /usr; exit 2", "mode": "async", "shellId": "build"})
	w.calls("list_bash", params{})
	open()
	w.callForNotice("list_bash", params{})
	w.calls("list_bash", params{})
	w.calls("read_bash", params{"shellId": "build", "delay": 1})
	bash(params{"command": `read -rp 'Sure? ' a; echo "you said $a"`, "shellId": "asks"})
	w.calls("write_bash", params{"shellId": "asks", "input": "yes{enter}", "delay": 10})
	w.calls("stop_bash", params{"shellId": "asks"})
	w.calls("read_bash", params{"shellId": "asks", "delay": 1})
	w.golden(d, "copilot")
}

// What a client of our own tools gets, through the daemon: also of all that is wrong with
// parameters.
func TestGoldenMCPOfCore(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := wired(d, "core", "")
	run := func(args params) { w.calls("run", args) }
	run(params{"command": "echo out; echo err >&2"})
	run(params{"command": "kill -9 $$", "description": "ends itself"})
	run(params{"command": "seq 20000", "name": "many", "max_bytes": 100})
	run(params{"command": "sleep 60", "timeout_seconds": 0.5})
	run(params{"command": "cd /usr; V=5", "session": "s"})
	run(params{"command": "echo $V; pwd; exit 3", "session": "s"})
	run(params{"argv": []string{"no-such-program"}})
	run(params{"command": "true", "cwd": "missing"})
	run(params{"command": "cat", "stdin": "given\n"})
	w.call("run", params{"command": `read -rp 'name? ' x; echo "hello $x"`, "name": "asks", "background": true, "pty": true}) // it may have asked by then
	w.calls("wait", params{"job_ids": []string{"asks"}, "until": "input"})
	w.calls("screen", params{"job_id": "asks"})
	w.calls("write", params{"job_id": "asks", "keys": "me{enter}"})
	for _, look := range []params{
		{"line": 5, "limit": 2},
		{"head": 2},
		{"tail": 2},
		{"head": 1, "tail": 1},
		{"from": 108_880},
		{"max_bytes": 20},
		{"line": -1},
		{"from": 1, "tail": 1},
		{"from": -1},
		{"wait_seconds": 1},
		{"line": 1, "tail": 1},
		{"head": 1, "tail": 2},
		{"max_bytes": -1},
		{"stream": "stdin"},
	} {
		look["job_id"] = "many"
		w.calls("read", look)
	}
	run(params{"command": "sleep 600", "name": "long", "background": true})
	w.calls("list", params{})
	w.calls("promote", params{"job_id": "long"})
	w.calls("write", params{"job_id": "long", "text": "x"})
	w.calls("screen", params{"job_id": "long"})
	w.calls("wait", params{"job_ids": []string{"long"}, "timeout_seconds": 0.1})
	w.calls("stop", params{"job_ids": []string{"long"}})
	w.calls("stop", params{"job_ids": []string{"none"}})
	w.calls("stop", params{})
	w.calls("wait", params{})
	w.calls("read", params{})
	run(params{})
	run(params{"command": "true", "colour": "red"})
	w.golden(d, "core")
}
