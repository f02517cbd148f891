package http_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/api"
	"troupe/messages"
)

// refused sends a request that must be refused, and changes nothing.
func (d *daemon) refused(t *testing.T, method, path, body string, status int, code messages.Code, reason string) {
	t.Helper()
	got, text := d.raw(method, path, body)
	var said api.ErrorBody
	require.NoError(t, json.Unmarshal([]byte(text), &said), "%d %s", got, text)
	require.Equal(t, code, said.Error.Code, text)
	if reason != "" {
		require.Equal(t, reason, said.Error.Reason, text)
	}
	require.Equal(t, status, got, text)
	require.NotEmpty(t, said.Error.Message)
}

// A run that makes no sense is refused by name, and there is no job.
func TestBadInputRun(t *testing.T) {
	d := start(t, nil)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf("V%d=x", i))
	}
	env, err := json.Marshal(many)
	require.NoError(t, err)
	const bad, cannot = 400, 422
	for _, c := range []struct {
		name, body string
		status     int
		code       messages.Code
		reason     string
	}{
		{"B01", `not json`, bad, messages.InvalidParams, "parse_error"},
		{"B01 two", `{"command":"true"} {}`, bad, messages.InvalidParams, "parse_error"},
		{"B02", ` `, bad, messages.InvalidParams, "body"},
		{"B03", `[]`, bad, messages.InvalidParams, "body"},
		{"B03 null", `null`, bad, messages.InvalidParams, "body"},
		{"B08", strings.Repeat("[", 10_000), bad, messages.InvalidParams, "body"},
		{"B12", `{"command":"a\u0000b"}`, bad, messages.InvalidParams, "command"},
		{"B12 argv", `{"argv":["a","b\u0000"]}`, bad, messages.InvalidParams, "command"},
		{"B13", "{\"command\":\"\xff\"}", bad, messages.InvalidParams, "utf8"},
		{"B13 half", `{"command":"\ud800"}`, bad, messages.InvalidParams, "utf8"},
		{"B15", `{"command":""}`, bad, messages.InvalidParams, "empty_command"},
		{"B15 none", `{}`, bad, messages.InvalidParams, "empty_command"},
		{"B16", `{"command":" \n\t"}`, bad, messages.InvalidParams, "empty_command"},
		{"B17", `{"command":"` + strings.Repeat("x", messages.MaxText+1) + `"}`, 413, messages.TooLarge, "command"},
		{"B17 more", `{"command":"` + strings.Repeat("x", 3*messages.MaxText) + `"}`, 413, messages.TooLarge, "body"},
		{"B18", `{"argv":[]}`, bad, messages.InvalidParams, "empty_command"},
		{"B19", `{"argv":[""]}`, bad, messages.InvalidParams, "empty_command"},
		{"both", `{"argv":["a"],"command":"b"}`, bad, messages.InvalidParams, "command"},
		{"B27", `{"command":"true","cwd":"` + dir + `/no"}`, cannot, messages.CwdNotFound, "ENOENT"},
		{"B28", `{"command":"true","cwd":"` + dir + `/file"}`, cannot, messages.CwdNotDir, "ENOTDIR"},
		{"B30", `{"command":"true","cwd":"sub"}`, bad, messages.InvalidParams, "cwd"},
		{"B32", `{"command":"true","cwd":"` + dir + `/loop"}`, cannot, messages.CwdNotFound, "ELOOP"},
		{"B33 digit", `{"command":"true","environment":{"set":["1A=x"]}}`, cannot, messages.EnvRefused, "env"},
		{"B33 none", `{"command":"true","environment":{"set":["=x"]}}`, cannot, messages.EnvRefused, "env"},
		{"B33 -", `{"command":"true","environment":{"set":["a-b=x"]}}`, cannot, messages.EnvRefused, "env"},
		{"B34", `{"command":"true","environment":{"set":["A=x\u0000"]}}`, cannot, messages.EnvRefused, "env"},
		{"B35", `{"command":"true","environment":{"set":["LD_PRELOAD=x"]}}`, cannot, messages.EnvRefused, "LD_PRELOAD"},
		{"B35 bash", `{"command":"true","environment":{"set":["BASH_ENV=x"]}}`, cannot, messages.EnvRefused, "BASH_ENV"},
		{"B35 unsafe", `{"command":"true","env_unsafe":true,"environment":{"set":["BASH_ENV=x"]}}`, bad, messages.InvalidParams, "env_unsafe"},
		{"B37", `{"command":"true","environment":{"set":` + string(env) + `}}`, 413, messages.TooLarge, "too_many"},
		{"base_env", `{"command":"true","environment":{"base":["A=b"]}}`, bad, messages.InvalidParams, "base_env"},
		{"B38", `{"command":"true","timeout_ms":-1}`, bad, messages.InvalidParams, "timeout_ms"},
		{"B39", `{"command":"true","timeout_ms":0}`, bad, messages.InvalidParams, "timeout_ms"},
		{"B40 NaN", `{"command":"true","timeout_ms":NaN}`, bad, messages.InvalidParams, "parse_error"},
		{"B40 1e308", `{"command":"true","timeout_ms":1e308}`, bad, messages.InvalidParams, "timeout_ms"},
		{"B40 5", `{"command":"true","timeout_ms":"5"}`, bad, messages.InvalidParams, "timeout_ms"},
		{"B40 1.5", `{"command":"true","timeout_ms":1.5}`, bad, messages.InvalidParams, "timeout_ms"},
		{"B40 long", `{"command":"true","timeout_ms":9223372036854775807}`, bad, messages.InvalidParams, "timeout_ms"},
		{"promote 0", `{"command":"true","promote_after_ms":0}`, bad, messages.InvalidParams, "promote_after_ms"},
		{"grace -1", `{"command":"true","grace_ms":-1}`, bad, messages.InvalidParams, "grace_ms"},
		{"B42", `{"command":"true","terminal":{"rows":0,"cols":0}}`, bad, messages.InvalidParams, "invalid_size"},
		{"B42 -1", `{"command":"true","terminal":{"rows":-1,"cols":80}}`, bad, messages.InvalidParams, "invalid_size"},
		{"B42 65536", `{"command":"true","terminal":{"rows":1,"cols":65536}}`, bad, messages.InvalidParams, "invalid_size"},
		{"detach", `{"command":"true","mode":"detached"}`, 501, messages.Unsupported, "detach"},
		{"B65", `{"command":"true","colour":"red"}`, bad, messages.InvalidParams, "colour"},
		{"B65 deep", `{"command":"true","max_output":{"byte":1}}`, bad, messages.InvalidParams, "byte"},
		{"B65 case", `{"Command":"true"}`, bad, messages.InvalidParams, "Command"},
		{"B65 twice", `{"command":"true","command":"false"}`, bad, messages.InvalidParams, "command"},
		{"B66", `{"command":5}`, bad, messages.InvalidParams, "command"},
		{"B66 environment", `{"command":"true","environment":[]}`, bad, messages.InvalidParams, "environment"},
		{"B66 argv", `{"argv":"x"}`, bad, messages.InvalidParams, "argv"},
		{"B66 argv null", `{"argv":["printf","[%s]","a",null,"b"]}`, bad, messages.InvalidParams, "argv"},
		{"B66 set null", `{"command":"true","environment":{"set":[null]}}`, bad, messages.InvalidParams, "set"},
		{"mode", `{"command":"true","mode":"later"}`, bad, messages.InvalidParams, "mode"},
		{"stdin", `{"command":"true","stdin":"host"}`, bad, messages.InvalidParams, "stdin"},
		{"streams", `{"command":"true","streams":"both"}`, bad, messages.InvalidParams, "streams"},
		{"streams of a terminal", `{"command":"true","streams":"separate","terminal":{"rows":24,"cols":80}}`, bad, messages.InvalidParams, "streams"},
		{"durability", `{"command":"true","durability":"zz"}`, bad, messages.InvalidParams, "durability"},
		{"scope", `{"command":"true","scope":"../x"}`, bad, messages.InvalidParams, "scope"},
		{"session", `{"command":"true","session":"a/b"}`, bad, messages.InvalidParams, "session"},
		{"uid", `{"command":"true","uid":"x"}`, bad, messages.InvalidParams, "uid"},
		{"quota", `{"command":"true","max_output":{"bytes":-1}}`, bad, messages.InvalidParams, "max_output"},
		{"base64", `{"command":{"base64":"?"}}`, bad, messages.InvalidParams, "command"},
	} {
		t.Run(c.name, func(t *testing.T) { d.refused(t, "POST", "/v1/jobs", c.body, c.status, c.code, c.reason) })
	}
	d.refused(t, "POST", "/v1/jobs?text=0", `{"command":"true"}`, bad, messages.InvalidParams, "text")
	list, err := host.Ask(t.Context(), d.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	require.Empty(t, jobs, "a refusal makes no job")
}

// Large texts that are allowed pass (B17).
func TestBadInputLargeTextsPass(t *testing.T) {
	d := start(t, nil)
	for _, c := range []struct {
		filler string
		size   int
	}{{"\n", 200 << 10}, {"x", 4 << 20}} {
		job := d.run("exit 4\n#" + strings.Repeat(c.filler, c.size))
		require.Equal(t, 4, job.ExitCode())
	}
}

// What is asked of a job, and makes no sense.
func TestBadInputOfAJob(t *testing.T) {
	d := start(t, nil)
	live := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	piped := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	over := d.run("echo some output")
	const bad, none, conflict = 400, 404, 409
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     messages.Code
		reason                   string
	}{
		{"B42", "POST", "live/resize", `{"rows":0,"cols":5}`, bad, messages.InvalidParams, "invalid_size"},
		{"resize", "POST", "live/resize", `{"rows":5,"cols":5}`, 501, messages.Unsupported, ""},
		{"B43", "POST", "live/signal", `{"signal":"SIGFOO"}`, bad, messages.InvalidParams, "signal"},
		{"B43 0", "POST", "live/signal", `{"signal":"0"}`, bad, messages.InvalidParams, "signal"},
		{"B43 65", "POST", "live/signal", `{"signal":"65"}`, bad, messages.InvalidParams, "signal"},
		{"B43 -9", "POST", "live/signal", `{"signal":"-9"}`, bad, messages.InvalidParams, "signal"},
		{"B43 number", "POST", "live/signal", `{"signal":9}`, bad, messages.InvalidParams, "signal"},
		{"B44", "POST", "over/input", `{"data":"x"}`, conflict, messages.JobFinished, ""},
		{"B45", "POST", "live/input", `{"data":"x"}`, conflict, messages.NoInput, ""},
		{"B46", "POST", "piped/input", `{"data_base64":"?"}`, bad, messages.InvalidParams, "data_base64"},
		{"B47", "POST", "piped/input", `{"data":"` + strings.Repeat("x", 10<<20) + `"}`, 413, messages.TooLarge, "body"},
		{"B47 less", "POST", "piped/input", `{"data":"` + strings.Repeat("x", messages.MaxInput+1) + `"}`, 413, messages.TooLarge, ""},
		{"input", "POST", "piped/input", `{}`, bad, messages.InvalidParams, "data"},
		{"signal over", "POST", "over/signal", `{"signal":"TERM"}`, conflict, messages.JobFinished, ""},
		{"B60", "POST", "over/promote", `{}`, conflict, messages.JobFinished, ""},
		{"deadline", "POST", "live/deadline", `{}`, bad, messages.InvalidParams, "deadline"},
		{"deadline two", "POST", "live/deadline", `{"none":true,"after_ms":5}`, bad, messages.InvalidParams, "deadline"},
		{"B39", "POST", "live/deadline", `{"after_ms":0}`, bad, messages.InvalidParams, "after_ms"},
		{"handover", "POST", "live/handover", `{"to":""}`, bad, messages.InvalidParams, "scope"},
		{"stop scope", "POST", "live/stop", `{"scope":"main"}`, bad, messages.InvalidParams, "scope"},
		{"B53", "GET", "over/output?offset=-1", ``, bad, messages.InvalidParams, "offset"},
		{"B54", "GET", "over/output?limit=0", ``, bad, messages.InvalidParams, "limit"},
		{"B54 -1", "GET", "over/output?limit=-1", ``, bad, messages.InvalidParams, "limit"},
		{"B54 text", "GET", "over/text?limit=0", ``, bad, messages.InvalidParams, "limit"},
		{"B54 text -1", "GET", "over/text?tail=-1", ``, bad, messages.InvalidParams, "tail"},
		{"B54 text 2^40", "GET", "over/text?bytes=1099511627776", ``, bad, messages.InvalidParams, "bytes"},
		{"text both", "GET", "over/text?line=1&tail=3", ``, bad, messages.InvalidParams, "line"},
		{"text ends", "GET", "over/text?head=1&tail=3", ``, bad, messages.InvalidParams, "head"},
		{"stream", "GET", "over/output?stream=stdout", ``, bad, messages.InvalidParams, "stream"},
		{"stream name", "GET", "over/text?stream=5", ``, bad, messages.InvalidParams, "stream"},
		{"follow", "GET", "over/output?follow=yes", ``, bad, messages.InvalidParams, "follow"},
		{"parameter", "GET", "over/output?ofset=1", ``, bad, messages.InvalidParams, "ofset"},
		{"twice", "GET", "over/output?offset=1&offset=2", ``, bad, messages.InvalidParams, "offset"},
		{"B49", "GET", "j99", ``, none, messages.NotFound, ""},
		{"B49 output", "GET", "j99/output", ``, none, messages.NotFound, ""},
		{"B49 text", "GET", "j99/text", ``, none, messages.NotFound, ""},
		{"B49 stop", "POST", "j99/stop", `{}`, none, messages.NotFound, ""},
		{"B51", "GET", "..%2F..%2Fetc%2Fpasswd", ``, none, messages.NotFound, "route"},
		{"B51 plain", "GET", "../../etc/passwd", ``, none, messages.NotFound, "route"},
		{"B51 name", "GET", "%2Fetc%2Fpasswd", ``, none, messages.NotFound, "route"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.path
			for name, job := range map[string]messages.Record{"live": live, "piped": piped, "over": over} {
				if rest, ok := strings.CutPrefix(path, name+"/"); ok {
					path = string(job.ID) + "/" + rest
				}
			}
			d.refused(t, c.method, "/v1/jobs/"+path, c.body, c.status, c.code, c.reason)
		})
	}
}

// Requests of other kinds.
func TestBadInputElsewhere(t *testing.T) {
	d := start(t, nil)
	const bad, none = 400, 404
	for _, c := range []struct {
		method, path, body string
		status             int
		code               messages.Code
		reason             string
	}{
		{"GET", "/v1/nothing", ``, none, messages.NotFound, "route"},
		{"GET", "/", ``, none, messages.NotFound, "route"},
		{"GET", "/v1/jobs/", ``, none, messages.NotFound, "route"},
		{"PUT", "/v1/jobs", `{}`, 405, messages.Unsupported, "method"},
		{"DELETE", "/v1/stats", ``, 405, messages.Unsupported, "method"},
		{"GET", "/v1/jobs?finished=maybe", ``, bad, messages.InvalidParams, "finished"},
		{"GET", "/v1/jobs?state=gone", ``, bad, messages.InvalidParams, "state"},
		{"GET", "/v1/jobs?scope=..", ``, bad, messages.InvalidParams, "scope"},
		{"GET", "/v1/jobs?finished=", ``, bad, messages.InvalidParams, "finished"},
		{"GET", "/v1/jobs?%zz&finished=true", ``, bad, messages.InvalidParams, "query"},
		{"GET", "/v1/jobs?finished=true;scope=a", ``, bad, messages.InvalidParams, "query"},
		{"GET", "/v1/jobs?%zz", ``, bad, messages.InvalidParams, "query"},
		{"POST", "/v1/stop", `{}`, bad, messages.InvalidParams, "scope"},
		{"POST", "/v1/remove", `{"jobs":[]}`, bad, messages.InvalidParams, "jobs"},
		{"POST", "/v1/remove", `{"jobs":["a"` + strings.Repeat(`,"a"`, api.MaxRemoved) + `]}`, bad, messages.InvalidParams, "jobs"},
		{"POST", "/v1/wait", `{"jobs":[]}`, bad, messages.InvalidParams, "jobs"},
		{"POST", "/v1/wait", `{"jobs":[null]}`, bad, messages.InvalidParams, "jobs"},
		{"POST", "/v1/sessions", `{"session":"a","environment":{"set":[null]}}`, bad, messages.InvalidParams, "set"},
		{"POST", "/v1/wait", `{"jobs":["j9"]}`, none, messages.NotFound, ""},
		{"POST", "/v1/wait", `{"jobs":["j9"],"condition":{"kind":"pattern","pattern":"("}}`, bad, messages.InvalidParams, "pattern"},
		{"POST", "/v1/wait", `{"jobs":["j9"],"timeout_ms":0}`, bad, messages.InvalidParams, "timeout_ms"},
		{"POST", "/v1/sessions", `{"session":""}`, bad, messages.InvalidParams, "session"},
		{"POST", "/v1/sessions", `{"session":"a","scope":"b c"}`, bad, messages.InvalidParams, "scope"},
		{"POST", "/v1/sessions", `{"session":"a","backend":"none"}`, 501, messages.Unsupported, "backend"},
		{"DELETE", "/v1/sessions/nothing", ``, none, messages.NotFound, ""},
		{"DELETE", "/v1/sessions/nothing?grace_ms=-1", ``, bad, messages.InvalidParams, "grace_ms"},
		{"POST", "/v1/scopes", `{"path":"a//b"}`, bad, messages.InvalidParams, "scope"},
		{"POST", "/v1/scopes", `{"path":"a","quota":{"jobs":-1}}`, bad, messages.InvalidParams, "quota"},
		{"DELETE", "/v1/scopes/nowhere", ``, none, messages.NotFound, ""},
	} {
		t.Run(c.method+" "+c.path+" "+c.body, func(t *testing.T) {
			d.refused(t, c.method, c.path, c.body, c.status, c.code, c.reason)
		})
	}
	reply := d.reply("PATCH", "/v1/jobs/j1", "")
	defer reply.Body.Close()
	require.Equal(t, "DELETE, GET", reply.Header.Get("Allow"))
	head := d.reply("HEAD", "/v1/jobs", "")
	defer head.Body.Close()
	require.Equal(t, 405, head.StatusCode)
	require.Equal(t, "GET, POST", head.Header.Get("Allow"))
}

// A key that is none is no run without one: whoever sends it takes it for his protection.
func TestBadInputKey(t *testing.T) {
	d := start(t, nil)
	for _, headers := range [][]string{
		{"Idempotency-Key", ""},
		{"Idempotency-Key", strings.Repeat("k", 257)},
		{"Idempotency-Key", "one", "Idempotency-Key", "two"},
	} {
		status, body := d.raw("POST", "/v1/jobs", `{"command":"true"}`, headers...)
		require.Equal(t, 400, status, body)
		require.Contains(t, body, `"reason":"key"`)
	}
	jobs, err := d.client.Jobs(t.Context(), messages.ListJobs{Finished: true})
	require.NoError(t, err)
	require.Empty(t, jobs.Jobs)
}

// A body that ends early is no request (its client has gone), and one that is too large closes the
// connection (B09, B11).
func TestBadInputBodies(t *testing.T) {
	d := start(t, nil)
	for _, c := range []struct {
		request, want string
		leaves        bool
	}{
		{"POST /v1/jobs HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"command\":", "", true},
		{"POST /v1/stop HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n" + strings.Repeat(" ", 1048577), "HTTP/1.1 413", false},
		{"POST /v1/stop HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n" + strings.Repeat(" ", 1048577), "HTTP/1.1 413", false},
		{"nonsense\r\n\r\n", "HTTP/1.1 400", false},
	} {
		conn, err := net.Dial("unix", d.socket)
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, c.request)
		require.NoError(t, err)
		if c.leaves {
			require.NoError(t, conn.(*net.UnixConn).CloseWrite())
		}
		got, _ := io.ReadAll(conn) // to its end: the connection is closed
		require.Contains(t, string(got), c.want)
	}
	list, err := host.Ask(t.Context(), d.node.Host(), messages.ListJobs{Finished: true})
	jobs := list.Jobs
	require.NoError(t, err)
	require.Empty(t, jobs)
	_, err = d.client.Problems(t.Context())
	require.NoError(t, err)
}
