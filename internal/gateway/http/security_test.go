package http_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"troupe/client"
	"troupe/internal/gateway/http"
	"troupe/internal/gateway/http/peer"
	"troupe/internal/node"
	"troupe/internal/test/need"
	"troupe/messages"
)

// dialVar makes the test binary a client of another user: it connects to the
// socket of that name and says what came of it.
const dialVar = "TROUPE_TEST_DIAL"

func TestMain(m *testing.M) {
	if socket := os.Getenv(dialVar); socket != "" {
		os.Exit(stranger(socket))
	}
	goleak.VerifyTestMain(m)
}

// stranger speaks to a socket as plainly as it can: what is not refused at the
// door is answered.
func stranger(socket string) int {
	if path, ok := strings.CutPrefix(socket, "check:"); ok {
		_, err := client.Dial(context.Background(), path)
		fmt.Println("client:", err)
		return 0
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Println("dial:", err)
		return 0
	}
	defer conn.Close()
	_, werr := io.WriteString(conn, "GET /v1/version HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
	got, rerr := io.ReadAll(conn)
	fmt.Printf("answer: %q %v %v\n", got, werr, rerr)
	return 0
}

// asNobody runs this program as another user.
func asNobody(t *testing.T, socket string) string {
	t.Helper()
	need.Root(t)
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	dir := shortDir(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	copied := filepath.Join(dir, "stranger")
	require.NoError(t, os.WriteFile(copied, program, 0o755))
	cmd := exec.Command(copied)
	cmd.Env, cmd.Dir = []string{dialVar + "=" + socket}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// S01: another user cannot even reach the socket; where he can, because somebody
// has opened the modes, he is refused before a word of his is read.
func TestSecurityAnotherUserIsRefused(t *testing.T) {
	d := start(t, nil)
	require.Contains(t, asNobody(t, d.socket), "permission denied")
	require.Contains(t, asNobody(t, "check:"+d.socket), d.socket+" cannot be reached: permission denied (set TROUPE_SOCKET")
	for path := filepath.Dir(d.socket); len(path) > len(os.TempDir()); path = filepath.Dir(path) {
		require.NoError(t, os.Chmod(path, 0o755))
	}
	require.NoError(t, os.Chmod(d.socket, 0o666))
	out := asNobody(t, d.socket)
	require.Contains(t, out, `answer: ""`)
	_, err := d.client.Problems(t.Context())
	require.NoError(t, err)
}

// A socket that another user listens on is not spoken to.
func TestSecurityPlantedDaemonIsRefused(t *testing.T) {
	need.Root(t)
	dir := shortDir(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Chmod(socket, 0o666))
	require.Contains(t, asNobody(t, "check:"+socket), "belongs to user 0")
}

// S02: the socket is 0600 in a directory of 0700, whatever the umask.
func TestSecuritySocketModes(t *testing.T) {
	old := syscall.Umask(0)
	dir := filepath.Join(shortDir(t), "d")
	l, err := http.Listen(filepath.Join(dir, "s"))
	now := syscall.Umask(old)
	require.NoError(t, err)
	defer l.Close()
	require.Zero(t, now, "the umask is as it was")
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "s"): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
}

// What is in the place of the socket, or of its directory, is not trusted.
func TestSecuritySocketPlaces(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir, socket string)
		root bool
	}{
		{"directory of others may enter", func(t *testing.T, dir, _ string) { require.NoError(t, os.Mkdir(dir, 0o750)) }, false},
		{"directory of another user", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Chown(dir, 65534, 65534))
		}, true},
		{"directory is a link", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Mkdir(dir+"x", 0o700))
			require.NoError(t, os.Symlink(dir+"x", dir))
		}, false},
		{"directory is a file", func(t *testing.T, dir, _ string) { require.NoError(t, os.WriteFile(dir, nil, 0o700)) }, false},
		{"parent lets others in", func(t *testing.T, dir, _ string) { require.NoError(t, os.Chmod(filepath.Dir(dir), 0o777)) }, false},
		{"socket is a link", func(t *testing.T, dir, socket string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Symlink(dir+"/elsewhere", socket))
		}, false},
		{"socket is a file", func(t *testing.T, dir, socket string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.WriteFile(socket, []byte("data"), 0o600))
		}, false},
		{"socket of another user", func(t *testing.T, dir, socket string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			plant(t, socket)
			require.NoError(t, os.Lchown(socket, 65534, 65534))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.root {
				need.Root(t)
			}
			dir := filepath.Join(shortDir(t), "d")
			socket := filepath.Join(dir, "s")
			c.make(t, dir, socket)
			_, err := http.Listen(socket)
			coded(t, err, messages.Refused, "socket")
		})
	}
}

// plant leaves a socket on which nobody listens.
func plant(t *testing.T, socket string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
}

// The socket of a dead daemon is replaced, that of a living one is not.
func TestListenAgain(t *testing.T) {
	dir := filepath.Join(shortDir(t), "d")
	socket := filepath.Join(dir, "s")
	require.NoError(t, os.Mkdir(dir, 0o700))
	plant(t, socket)
	_, err := client.Dial(t.Context(), socket)
	require.ErrorIs(t, err, client.ErrNoDaemon)
	l, err := http.Listen(socket)
	require.NoError(t, err)
	_, err = http.Listen(socket)
	coded(t, err, messages.Conflict, "socket")
	require.NoError(t, l.Close())
	_, err = client.Dial(t.Context(), socket)
	require.ErrorIs(t, err, client.ErrNoDaemon)
	require.NoFileExists(t, socket)
}

// A socket that somebody removed, and another daemon has made since, is left to that.
func TestListenLeavesTheSocketOfAnother(t *testing.T) {
	socket := filepath.Join(shortDir(t), "s")
	require.NoError(t, os.Chmod(filepath.Dir(socket), 0o700))
	first, err := http.Listen(socket)
	require.NoError(t, err)
	require.NoError(t, os.Remove(socket))
	second, err := http.Listen(socket)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.FileExists(t, socket)
	require.NoError(t, second.Close())
	require.NoFileExists(t, socket)
}

// B74: a path that no socket can have is refused by name, on both sides.
func TestBadInputSocketPath(t *testing.T) {
	long := "/tmp/" + strings.Repeat("x", peer.MaxPath)
	for _, path := range []string{long, "", "relative/s"} {
		_, err := http.Listen(path)
		coded(t, err, messages.InvalidParams, "socket")
		_, err = client.Dial(t.Context(), path)
		coded(t, err, messages.InvalidParams, "socket")
	}
	fits := shortDir(t)
	fits += "/d/" + strings.Repeat("x", peer.MaxPath-len(fits)-3)
	l, err := http.Listen(fits)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// startTCP serves the node on loopback, too.
func (d *daemon) startTCP() string {
	d.t.Helper()
	l, err := http.ListenTCP("127.0.0.1:0")
	require.NoError(d.t, err)
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(l) }()
	d.t.Cleanup(func() {
		d.end() // which is done once
		if err := <-served; err != nil {
			d.t.Errorf("the TCP listener failed: %v", err)
		}
	})
	return l.Addr().String()
}

// S04-S08: what reaches the loopback port needs the token, our Host, no Origin
// of others, and JSON.
func TestSecurityLoopback(t *testing.T) {
	token, err := http.LoadToken(filepath.Join(shortDir(t), "token"))
	require.NoError(t, err)
	d := start(t, func(_ *node.Options, o *http.Options) { o.Token = token })
	address := d.startTCP()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	bearer := "Bearer " + token.Secret
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
	}{
		{"fine", "GET", "/v1/jobs", "", []string{"Authorization", bearer}, 200},
		{"own origin", "GET", "/v1/jobs", "", []string{"Authorization", bearer, "Origin", "http://" + address}, 200},
		{"localhost", "GET", "/v1/jobs", "", []string{"Authorization", bearer, "Host", "localhost:" + port}, 200},
		{"S04", "GET", "/v1/jobs", "", nil, 401},
		{"S04 wrong", "GET", "/v1/jobs", "", []string{"Authorization", bearer + "x"}, 401},
		{"S04 empty", "GET", "/v1/jobs", "", []string{"Authorization", "Bearer "}, 401},
		{"S04 scheme", "GET", "/v1/jobs", "", []string{"Authorization", token.Secret}, 401},
		{"S04 in the URL", "GET", "/v1/jobs?token=" + token.Secret, "", nil, 401},
		{"S04 no route", "GET", "/nowhere", "", nil, 401},
		{"S05", "GET", "/v1/jobs", "", []string{"Authorization", bearer, "Host", "evil.example"}, 403},
		{"S05 port", "GET", "/v1/jobs", "", []string{"Authorization", bearer, "Host", "127.0.0.1:1"}, 403},
		{"S05 no route", "GET", "/nowhere", "", []string{"Host", "evil.example"}, 403},
		{"S06", "GET", "/v1/jobs", "", []string{"Authorization", bearer, "Origin", "https://evil.example"}, 403},
		{"S06 null", "GET", "/v1/jobs", "", []string{"Authorization", bearer, "Origin", "null"}, 403},
		{"S06 fetch", "POST", "/v1/jobs", `{"command":"true"}`, []string{"Authorization", bearer, "Content-Type", "application/json", "Sec-Fetch-Site", "cross-site"}, 403},
		{"S06 preflight", "OPTIONS", "/v1/jobs", "", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}, 403},
		{"S07", "POST", "/v1/jobs", `{"command":"true"}`, []string{"Authorization", bearer, "Content-Type", "text/plain"}, 415},
		{"S07 none", "POST", "/v1/jobs", `{"command":"true"}`, []string{"Authorization", bearer}, 415},
		{"S07 form", "POST", "/v1/jobs", `{"command":"true"}`, []string{"Authorization", bearer, "Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"fine POST", "POST", "/v1/jobs", `{"command":"true"}`, []string{"Authorization", bearer, "Content-Type", "application/json; charset=utf-8"}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := nethttp.NewRequestWithContext(t.Context(), c.method, "http://"+address+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			for i := 0; i+1 < len(c.header); i += 2 {
				if c.header[i] == "Host" {
					r.Host = c.header[i+1]
					continue
				}
				r.Header.Set(c.header[i], c.header[i+1])
			}
			reply, err := nethttp.DefaultClient.Do(r)
			require.NoError(t, err)
			defer reply.Body.Close()
			require.Equal(t, c.status, reply.StatusCode)
			for name := range reply.Header {
				require.NotContains(t, name, "Access-Control", "no CORS")
			}
		})
	}
	for _, line := range []string{"OPTIONS * HTTP/1.1", "CONNECT evil.example:80 HTTP/1.1", "GET http://evil.example/v1/jobs HTTP/1.1"} {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, line+"\r\nHost: evil.example\r\n\r\n")
		require.NoError(t, err)
		got := make([]byte, len("HTTP/1.1 403"))
		_, err = io.ReadFull(conn, got)
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 403", string(got), line)
	}
	over, err := client.DialTCP(t.Context(), address, token.Secret)
	require.NoError(t, err)
	defer over.Close()
	result, err := over.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "exit 6"}})
	require.NoError(t, err)
	require.Equal(t, 6, result.Job.ExitCode())
	_, err = client.DialTCP(t.Context(), address, "wrong")
	coded(t, err, messages.Refused, "token")
	var said *messages.Error
	require.ErrorAs(t, err, &said)
	require.Equal(t, "send Authorization: Bearer and the token in "+token.File, said.Hint)
}

// Nothing is served on TCP but loopback, and that not without a token.
func TestSecurityNoOpenPort(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "localhost:0", "192.0.2.1:80", "nonsense"} {
		_, err := http.ListenTCP(address)
		coded(t, err, messages.InvalidParams, "http")
	}
	for _, address := range []string{"127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "[::1]:http"} {
		_, err := http.ListenTCP(address)
		coded(t, err, messages.InvalidParams, "http")
		require.ErrorContains(t, err, address)
		require.ErrorContains(t, err, "port", address)
	}
	d := start(t, nil)
	l, err := http.ListenTCP("127.0.0.1:0")
	require.NoError(t, err)
	coded(t, d.server.Serve(l), messages.Refused, "token")
	everywhere, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	coded(t, d.server.Serve(everywhere), messages.InvalidParams, "http")
}

// The token is 256 bits in a file of ours alone.
func TestSecurityTokenFile(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "token")
	token, err := http.LoadToken(path)
	require.NoError(t, err)
	bits, err := base64.RawURLEncoding.DecodeString(token.Secret)
	require.NoError(t, err)
	require.Len(t, bits, 32)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again, err := http.LoadToken(path)
	require.NoError(t, err)
	require.Equal(t, token, again)
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = http.LoadToken(path)
	coded(t, err, messages.Refused, "token")
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Symlink(path, path+"link"))
	_, err = http.LoadToken(path + "link")
	require.Error(t, err)
	require.NoError(t, os.WriteFile(path, []byte("short"), 0o600))
	_, err = http.LoadToken(path)
	coded(t, err, messages.Refused, "token")
	require.ErrorContains(t, err, path+" holds no token")
	require.NoError(t, syscall.Mkfifo(path+"fifo", 0o600))
	_, err = http.LoadToken(path + "fifo")
	coded(t, err, messages.Refused, "token")
}
