package main

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
	"troupe/messages"
)

// piHost is a host that speaks with troupe rpc --dialect pi.
type piHost struct {
	*process
	in io.WriteCloser
}

// piRecord is a line of the server.
type piRecord struct {
	ID      *string
	Type    string
	Command string
	Success bool
	Error   string
	Delta   string
	Data    struct {
		Output         string
		ExitCode       *int
		Cancelled      bool
		Truncated      bool
		TotalLines     int64
		TotalBytes     int64
		OutputLines    int64
		OutputBytes    int64
		ArtifactID     string
		FullOutputPath string
	}
}

// piServer is a server beside a daemon, which is not started yet.
func (p *process) piServer(flags ...string) *process {
	p.t.Helper()
	q := programFor(p.t, long, append([]string{"rpc", "--dialect", "pi"}, flags...)...)
	q.Dir, q.dir, q.Env = p.dir, p.dir, append(slices.Clip(p.Env), "TROUPE_NO_DAEMON=")
	return q
}

// pi starts a server beside a daemon and reads that it is ready.
func (p *process) pi(flags ...string) *piHost {
	p.t.Helper()
	return p.piServer(flags...).piSpeaks()
}

func (p *process) piSpeaks() *piHost {
	p.t.Helper()
	in, err := p.StdinPipe()
	require.NoError(p.t, err)
	h := &piHost{process: p.start(), in: in}
	require.Equal(p.t, `{"type":"ready"}`, h.line())
	return h
}

// says sends a line.
func (h *piHost) says(line string) {
	h.t.Helper()
	_, err := io.WriteString(h.in, line+"\n")
	require.NoError(h.t, err)
}

// begins sends a bash request.
func (h *piHost) begins(id, command string) {
	h.t.Helper()
	line, err := json.Marshal(map[string]string{"id": id, "type": "bash", "command": command})
	require.NoError(h.t, err)
	h.says(string(line))
}

// record reads the next line.
func (h *piHost) record() (r piRecord) {
	h.t.Helper()
	require.NoError(h.t, json.Unmarshal([]byte(h.line()), &r))
	return r
}

// answer reads up to the response of a request. Every other line must be an event of it.
func (h *piHost) answer(id string) (response piRecord, output string) {
	h.t.Helper()
	var all strings.Builder
	for {
		r := h.record()
		require.NotNil(h.t, r.ID)
		require.Equal(h.t, id, *r.ID)
		if r.Type == "response" {
			return r, all.String()
		}
		require.Equal(h.t, "bash_execution_update", r.Type)
		all.WriteString(r.Delta)
	}
}

// bash runs a command.
func (h *piHost) bash(command string) (response piRecord, output string) {
	h.t.Helper()
	h.begins("b", command)
	return h.answer("b")
}

// leaves ends the input and waits for the server.
func (h *piHost) leaves() {
	h.t.Helper()
	require.NoError(h.t, h.in.Close())
	require.Empty(h.t, h.rest())
	h.ends(0)
}

// A host of pi or omp finds its executor: a shell that stays, and that runs what the user wrote
// as a job of the daemon, off a terminal and past all that is for models.
func TestR144_RPCBashIsTheBareExecutor(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	server := d.piServer()
	server.Env = append(server.Env, d.configures("[omp]\nintercept = true\n[[omp.rules]]\npattern = '^cat '\ntool = 'read'\nmessage = 'Use read.'\n"), "TOKEN_OF_X_TOKEN=secret", "PLAIN=value")
	h := server.piSpeaks()
	for command, want := range map[string]string{
		"seq 5 | head -n 2":                           "1\n2\n",
		"cat /dev/null; echo $PLAIN$TOKEN_OF_X_TOKEN": "value\n",
		"test -t 0 || test -t 1 || echo none":         "none\n",
		"echo skill://x; pwd":                         "skill://x\n" + d.dir + "\n",
		"echo out; echo err >&2":                      "out\nerr\n",
	} {
		r, output := h.bash(command)
		require.Equal(t, want, output, command)
		require.Equal(t, want, r.Data.Output, command)
		require.Equal(t, 0, *r.Data.ExitCode, command)
	}
	r, _ := h.bash("cd / && X=here; exit_with() { return $1; }; exit_with 3")
	require.Equal(t, 3, *r.Data.ExitCode)
	_, output := h.bash("echo $PWD $X")
	require.Equal(t, d.dir+" here\n", output)

	list := d.beside("ps", "-a", "--json").start().rest()
	require.Contains(t, list, `"scope":"rpc/client-`)
	require.Contains(t, list, `"timeout_ms":300000`, "R-159")
	h.leaves()
}

func TestR145_PiFrames(t *testing.T) {
	t.Parallel()
	h := serves(t, nil).pi()
	_, err := io.WriteString(h.in, `{"id":"b","type":"bash","command":"echo 'a`+"\u2028b\u2029c é漢"+`'"}`+"\r\n")
	require.NoError(t, err)
	r, output := h.answer("b")
	require.Equal(t, "a\u2028b\u2029c é漢\n", output)
	require.Equal(t, output, r.Data.Output)
	line := `{"id":"b","type":"bash","command":"echo '👩'"}` // without its end
	for i := range len(line) {
		_, err := io.WriteString(h.in, line[i:i+1])
		require.NoError(t, err)
	}
	require.NoError(t, h.in.Close())
	_, output = h.answer("b")
	require.Equal(t, "👩\n", output)
	require.Empty(t, h.rest())
	h.ends(0)
}

// The client of omp starts its server with --mode rpc, waits for the ready line, and asks for
// one thing at a time.
func TestR146_AConversationWithTheClientOfOMP(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	h := d.pi("--mode", "rpc")
	var said []string
	for _, line := range []string{
		`{"id":"req_1","type":"bash","command":"printf 'a\\tb'; exit 2"}`,
		`{"id":"req_2","type":"abort_bash"}`,
		`{"id":"req_3","type":"get_state"}`,
		`{"id":"req_4","type":"bash","command":"true"}`,
	} {
		h.says(line)
		for {
			got := h.line()
			said = append(said, got)
			if strings.Contains(got, `"type":"response"`) {
				break
			}
		}
	}
	require.Equal(t, []string{
		`{"type":"bash_execution_update","id":"req_1","delta":"a\tb"}`,
		`{"id":"req_1","type":"response","command":"bash","success":true,"data":{"output":"a\tb","exitCode":2,"cancelled":false,"truncated":false,"totalLines":1,"totalBytes":3,"outputLines":1,"outputBytes":3}}`,
		`{"id":"req_2","type":"response","command":"abort_bash","success":true}`,
		`{"id":"req_3","type":"response","command":"get_state","success":false,"error":"unknown command \"get_state\": use bash or abort_bash"}`,
		`{"id":"req_4","type":"response","command":"bash","success":true,"data":{"output":"","exitCode":0,"cancelled":false,"truncated":false,"totalLines":0,"totalBytes":0,"outputLines":0,"outputBytes":0}}`,
	}, said)
	h.leaves()
	q := d.piServer("--mode", "json").start()
	q.ends(cli.StatusUsage)
	q.err.has(t, "invalid mode json: use rpc, or leave it out")
}

func TestR148_ATruncatedOutputIsInAFile(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	server := d.piServer()
	server.Env = append(server.Env, "TMPDIR="+d.dir)
	h := server.piSpeaks()
	r, output := h.bash("seq 100000")
	require.Len(t, output, 588895)
	require.True(t, r.Data.Truncated)
	require.Equal(t, output[len(output)-51200:], r.Data.Output)
	require.Equal(t, []int64{100001, 588895, 51200}, []int64{r.Data.TotalLines, r.Data.TotalBytes, r.Data.OutputBytes})
	require.Equal(t, "0", r.Data.ArtifactID)
	text, err := os.ReadFile(r.Data.FullOutputPath)
	require.NoError(t, err)
	require.True(t, string(text) == output)
	h.leaves()
	require.NoFileExists(t, r.Data.FullOutputPath, "it goes with its client")
}

// An answer comes even if the client does not wait for it any more. The job is listed, and its
// output can be read, also when the client has left.
func TestR151_AJobOutlastsThePatienceOfItsClient(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	h := d.pi()
	h.begins("late", "echo begun; read x < "+d.file("gate")+"; echo ended")
	require.Equal(t, "begun\n", h.record().Delta)
	list := d.beside("ps").start()
	require.Contains(t, list.rest(), "echo begun")
	h.begins("next", "echo next")
	_, output := h.answer("next")
	require.Equal(t, "next\n", output)
	open()
	r, output := h.answer("late")
	require.Equal(t, "ended\n", output)
	require.Equal(t, "begun\nended\n", r.Data.Output)
	h.leaves()
	var jobs struct{ Jobs []messages.Record }
	require.NoError(t, json.Unmarshal([]byte(d.beside("ps", "-a", "--json").start().rest()), &jobs))
	job := slices.IndexFunc(jobs.Jobs, func(j messages.Record) bool { return strings.Contains(j.Command, "begun") })
	require.GreaterOrEqual(t, job, 0)
	require.Equal(t, "begun\nended\n", d.beside("logs", string(jobs.Jobs[job].UID)).start().rest())
}

// Many commands run side by side; an abort ends them all, and their processes.
func TestR152_AnAbortEndsEveryCommand(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	h := d.pi()
	const commands = 8
	for range commands {
		h.begins("b", "sleep 600 & echo $! >> "+d.file("pids")+"; echo up; wait")
	}
	for range commands {
		require.Equal(t, "up\n", h.record().Delta)
	}
	h.says(`{"id":"b","type":"abort_bash"}`)
	cancelled := 0
	for range commands + 1 {
		r := h.record()
		require.True(t, r.Success)
		if r.Command == "abort_bash" {
			continue
		}
		require.True(t, r.Data.Cancelled)
		require.Nil(t, r.Data.ExitCode)
		require.Equal(t, "[Command cancelled]\nup\n", r.Data.Output)
		cancelled++
	}
	require.Equal(t, commands, cancelled)
	gone(t, d.pidsIn(d.file("pids"))...)
	_, output := h.bash("echo alive")
	require.Equal(t, "alive\n", output)
	h.leaves()
}

// Several commands queue nothing and announce nothing but their output: what goes into the
// context of a model is up to the host.
func TestR153_OnlyOutputsAreEvents(t *testing.T) {
	t.Parallel()
	h := serves(t, nil).pi()
	for _, exclude := range []string{"", `,"excludeFromContext":true`, `,"excludeFromContext":false`} {
		h.says(`{"id":"b","type":"bash","command":"echo x"` + exclude + `}`)
		r, output := h.answer("b") // which takes no other event
		require.Equal(t, "x\n", output)
		require.True(t, r.Success)
	}
	h.leaves()
}

// At the end of the input what runs is answered. After TERM it is not: the jobs end at once,
// also those that ignore it.
func TestR155_TheEndOfAServer(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	h := d.pi()
	h.begins("b", "echo begun; read x < "+d.file("gate")+"; exit 5")
	require.Equal(t, "begun\n", h.record().Delta)
	require.NoError(t, h.in.Close())
	open()
	r, _ := h.answer("b")
	require.Equal(t, 5, *r.Data.ExitCode)
	require.Empty(t, h.rest())
	h.ends(0)

	for _, flags := range [][]string{nil, {"--no-daemon"}} {
		h = d.pi(flags...)
		h.begins("1", "echo $$ > "+d.file("one")+"; echo up; sleep 600")
		require.Equal(t, "up\n", h.record().Delta)
		h.begins("2", "trap '' TERM; echo $$ > "+d.file("two")+"; echo up; while :; do sleep 600; done")
		require.Equal(t, "up\n", h.record().Delta)
		h.send(syscall.SIGTERM)
		h.ends(0)
		leaveNothing(t, append(d.pidsIn(d.file("one")), d.pidsIn(d.file("two"))...))
	}
}

// The settings of omp that are of the executor hold, and an invalid one is reported before the
// server is ready.
func TestSettingsOfPi(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	server := d.piServer()
	server.Env = append(server.Env, d.configures("[omp]\none_shot = true\n[mcp]\noutput = '64KiB'\n"))
	h := server.piSpeaks()
	_, output := h.bash("cd /; X=1")
	require.Empty(t, output)
	_, output = h.bash("echo $PWD$X")
	require.Equal(t, d.dir+"\n", output)
	_, output = h.bash("seq 100000")
	require.Regexp(t, `\[\.\.\. [\d,]+ bytes were not kept \.\.\.\]\n`, output)
	h.leaves()

	server = d.piServer()
	server.Env = append(server.Env, d.configures("[omp]\nshell = '/no/shell'\n"))
	server.start()
	server.ends(cli.StatusUsage)
	server.err.has(t, "omp.shell")
}

// Many hosts speak with one server over its socket; each has commands of its own.
func TestPiOverASocket(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	server, path := d.piListens()
	var hosts []*piHost
	for range 2 {
		_, h := piDials(t, path)
		h.begins("b", "echo up; sleep 600")
		require.Equal(t, "up\n", h.record().Delta)
		hosts = append(hosts, h)
	}
	hosts[0].says(`{"id":"b","type":"abort_bash"}`)
	_, _ = hosts[0].answer("b")
	_, _ = hosts[0].answer("b")
	hosts[1].begins("b", "echo alive")
	require.Equal(t, "alive\n", hosts[1].record().Delta)

	conn, h := piDials(t, path)
	open := gate(t, d.file("gate"))
	h.begins("b", "read x < "+d.file("gate")+"; echo answered")
	require.NoError(t, conn.CloseWrite(), "the end of the input, not of the host")
	open()
	_, output := h.answer("b")
	require.Equal(t, "answered\n", output)
	require.Empty(t, h.rest())
	server.send(syscall.SIGTERM)
	server.ends(0)
}
