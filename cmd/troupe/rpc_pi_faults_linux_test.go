package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/artifact"
	"troupe/internal/test/need"
	"troupe/messages"
)

// job waits until the command of a host runs, and returns its job.
func (h *piHost) job() (id string) {
	h.t.Helper()
	eventually(h.t, "a job", func() bool {
		var list struct{ Jobs []messages.Record }
		require.NoError(h.t, json.Unmarshal([]byte(h.beside("ps", "-a", "--json").start().rest()), &list))
		for _, job := range list.Jobs {
			id = string(job.UID)
		}
		return id != ""
	})
	return id
}

// piListens starts a server for many hosts.
func (p *process) piListens() (server *process, path string) {
	p.t.Helper()
	require.NoError(p.t, os.Mkdir(p.file("own"), 0o700))
	path = p.file("own/rpc")
	return p.piServer("--listen", path).start(), path
}

// piDials connects a host to a server, which may not listen yet.
func piDials(t *testing.T, path string) (conn *net.UnixConn, h *piHost) {
	t.Helper()
	eventually(t, "the socket", func() bool {
		var err error
		conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		return err == nil
	})
	t.Cleanup(func() { _ = conn.Close() })
	h = &piHost{process: &process{t: t, out: bufio.NewReader(conn)}, in: conn}
	require.Equal(t, `{"type":"ready"}`, h.line())
	return conn, h
}

// The daemon is killed while a command runs. The command continues, the request gets its
// result from the next daemon, and no byte of the output is missing or comes twice.
func TestFaultRPCPiDaemonDies(t *testing.T) {
	t.Parallel()
	m := begins(t)
	open, passed := gate(t, m.file("gate")), post(t, m.file("passed"))
	h := m.pi()
	_, output := h.bash("X=kept")
	require.Empty(t, output)
	h.begins("b", "echo $$ >> "+m.file("ran")+"; seq 20000; echo > "+m.file("passed")+"; read x < "+m.file("gate")+"; seq 20000; echo $X; exit 5")
	passed()
	m.killed()
	open()
	r, output := h.answer("b")
	var want strings.Builder
	for range 2 {
		sequence(&want, 20000)
	}
	want.WriteString("kept\n")
	require.True(t, output == want.String(), "%d bytes, want %d", len(output), want.Len())
	require.Equal(t, 5, *r.Data.ExitCode)
	require.Len(t, m.pidsIn(m.file("ran")), 1)
	h.leaves()
}

// A server that is killed, or whose host is gone, leaves no command behind, even though the
// end of its input alone would let it go on.
func TestFaultRPCPiClientDies(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for name, dies := range map[string]func(*piHost){
		"killed": func(h *piHost) { h.send(syscall.SIGKILL) },
		"alone":  func(h *piHost) { _, _ = h.in.Close(), h.pipe.Close() },
	} {
		h := d.pi()
		file := d.file(name)
		h.begins("b", "echo $$ > "+file+"; echo up; sleep 600")
		require.Equal(t, "up\n", h.record().Delta)
		dies(h)
		<-h.ended
		leaveNothing(t, d.pidsIn(file))
	}

	server, path := d.piListens()
	conn, h := piDials(t, path)
	h.begins("b", "echo $$ > "+d.file("socket")+"; echo up; sleep 600")
	require.Equal(t, "up\n", h.record().Delta)
	_, other := piDials(t, path)
	require.NoError(t, conn.Close())
	leaveNothing(t, d.pidsIn(d.file("socket")))
	_, output := other.bash("echo alive")
	require.Equal(t, "alive\n", output)
	server.send(syscall.SIGTERM)
	server.ends(0)
}

// hostileOutput is 10 MB of what may harm a reader of lines, of text or of markup.
func hostileOutput() []byte {
	random := rand.New(rand.NewPCG(1, 2))
	bits := []string{
		"</shell_result>", "<shell_result>", "\n", "\r\n", "\r", "\x00", "\x1b", "\x1b[31m", "\x1b]8;;x\x1b\\", "\x1b]0;t\a", "\x1b[?1049h", "\u2028", "\u2029", "\u202e", "\"", "\\", "\\u0000",
		"\xff", "\xe2\x82", "é", "漢", "👩\u200d🚀", "\ufeff", `{"type":"response"}`, "\x7f", "\x9b", "```", strings.Repeat("x", 5000), "\t", "\b\b", "\x1bP", "\x18",
	}
	var b bytes.Buffer
	for b.Len() < 10_000_000 {
		b.WriteString(bits[random.IntN(len(bits))])
		b.WriteByte(byte(random.IntN(256)))
	}
	return b.Bytes()
}

// The output of a hostile command is text, the same as events, in the file and in the result.
func TestBadInputRPCPiHostileOutput(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	raw := hostileOutput()
	require.NoError(t, os.WriteFile(d.file("hostile"), raw, 0o600))
	h := d.pi()
	r, output := h.bash("cat " + d.file("hostile"))
	want := artifact.CleanText(strings.ReplaceAll(string(raw), "\r", ""), artifact.CleanOptions{})
	require.True(t, output == want, "%d bytes, want %d", len(output), len(want))
	require.True(t, strings.HasSuffix(output, r.Data.Output))
	require.Equal(t, int64(len(want)), r.Data.TotalBytes)
	text, err := os.ReadFile(r.Data.FullOutputPath)
	require.NoError(t, err)
	require.True(t, string(text) == want)
	h.leaves()
}

// A host that reads nothing costs no memory while a command floods it, and gets all of it later.
func TestFaultRPCPiHostDoesNotRead(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	h := d.pi()
	const size = 40_000_000
	h.begins("b", "yes 0123456789abcdefghi | head -c 40000000")
	d.beside("wait", h.job()).start().ends(0)
	most := procNumber(h.Process.Pid, "status", "VmHWM")
	t.Logf("at most %d KiB", most)
	require.True(t, most < 96<<10 || need.Race, "%d KiB", most)
	r, output := h.answer("b")
	require.Len(t, output, size)
	require.Equal(t, int64(size), r.Data.TotalBytes)
	h.leaves()
}
