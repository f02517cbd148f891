package shell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// seatOf plays the engine for a shell on a terminal.
type seatOf struct {
	dir          string
	master       *os.File
	ctl, st      *os.File
	modes        *unix.Termios
	said, output []byte
	n            int
}

const patience = 20 * time.Second

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seated starts a shell on a terminal and waits until it is ready.
func seated(t *testing.T, name string) *seatOf {
	t.Helper()
	_, err := exec.LookPath(name)
	need.Feature(t, err == nil, "a "+name)
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	need.Feature(t, err == nil, "a terminal: /dev/ptmx")
	check(t, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	check(t, err)
	tty := "/dev/pts/" + strconv.Itoa(n)
	slave, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	check(t, err)
	defer slave.Close()
	s := &seatOf{dir: t.TempDir()}
	s.modes, err = unix.IoctlGetTermios(master, unix.TCGETS)
	check(t, err)
	s.master = os.NewFile(uintptr(master), "master")
	t.Cleanup(func() { s.master.Close() })
	d := drivers()[name].onTerminal()
	place := strings.NewReplacer("@DIR@", s.dir, "@TTY@", tty)
	for file, text := range d.files() {
		check(t, os.WriteFile(filepath.Join(s.dir, file), []byte(place.Replace(text)), 0o600))
	}
	s.ctl, s.st = s.fifo(t, "ctl"), s.fifo(t, "st")
	words, env := []string{}, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TERM=xterm-256color", "LANG=C.UTF-8"}
	for _, w := range d.argv {
		words = append(words, place.Replace(w))
	}
	for _, kv := range d.env {
		env = append(env, place.Replace(kv))
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, s.dir, slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.await(t, s.st, &s.said, "\x00ready 0 "+s.dir+"\x00")
	return s
}

func (s *seatOf) fifo(t *testing.T, name string) *os.File {
	t.Helper()
	path := filepath.Join(s.dir, name)
	check(t, unix.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	check(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// await reads until something was said, and gives what came before and behind it.
func (s *seatOf) await(t *testing.T, from *os.File, into *[]byte, what string) (before, behind string) {
	t.Helper()
	check(t, from.SetReadDeadline(time.Now().Add(patience)))
	p := make([]byte, 64<<10)
	for {
		if a, b, ok := bytes.Cut(*into, []byte(what)); ok {
			return string(a), string(b)
		}
		n, err := from.Read(p)
		*into = append(*into, p[:n]...)
		if err != nil {
			t.Fatalf("no %q but %q: %v", what, *into, err)
		}
	}
}

// run runs a text and gives its status and its output: all before the fence. What is
// typed is so when "go" was printed.
func (s *seatOf) run(t *testing.T, text, typed string) (status int, output string) {
	t.Helper()
	s.n++
	nonce := fmt.Sprintf("%016x", s.n)
	s.said, s.output = nil, nil
	check(t, os.WriteFile(filepath.Join(s.dir, "text"), []byte(text+"\n"), 0o600))
	_, err := s.ctl.WriteString(nonce + "m\n")
	check(t, err)
	if typed != "" {
		s.await(t, s.master, &s.output, "go\r\n")
		_, err := s.master.WriteString(typed)
		check(t, err)
	}
	_, begun := s.await(t, s.st, &s.said, "\x00"+nonce+" ")
	s.said = []byte(begun)
	word, _ := s.await(t, s.st, &s.said, "\x00")
	number, _, _ := strings.Cut(word, " ")
	status, err = strconv.Atoi(number)
	check(t, err)
	output, behind := s.await(t, s.master, &s.output, "\x1b]133;D;"+number+";"+nonce+"\a")
	if behind != "" {
		t.Errorf("%q: behind the fence is %q", text, behind)
	}
	check(t, unix.IoctlSetTermios(int(s.fd(t)), unix.TCSETS, s.modes))
	return status, output
}

func (s *seatOf) fd(t *testing.T) (fd uintptr) {
	t.Helper()
	conn, err := s.master.SyscallConn()
	check(t, err)
	check(t, conn.Control(func(of uintptr) { fd = of }))
	return fd
}

// A shell on a terminal takes what comes, and the next command has its own output, true
// status and a terminal: whatever the one before has made of it.
func TestDriversOnATerminal(t *testing.T) {
	const waits = `sh -c 'echo go; exec sleep 100'`
	for _, name := range []string{"bash", "zsh", "dash"} {
		t.Run(name, func(t *testing.T) {
			s := seated(t, name)
			for _, c := range []struct {
				text, typed string
				status      int    // negative: any but 0
				output      string // is in it; with = before it: is all of it
				only        string // the others go on with the loop
			}{
				{text: "echo hi", output: "=hi\r\n"},
				{text: "false", status: 1, output: "="},
				{text: "(exit 4); echo $?; x=5; cd /usr", output: "=4\r\n"},
				{text: "pwd; echo $x; test -t 0 && test -t 1 && test -t 2", output: "=/usr\r\n5\r\n"},
				{text: "printf abc", output: "=abc"},
				{text: waits, typed: "\x03", status: 130, output: "go"},
				{text: waits, typed: "\x1a", status: 148, output: "go"},
				{text: "for i in 1 2; do " + waits + "; done", typed: "\x1a", status: -1, output: "go", only: "bash"},
				{text: "echo go; read x; echo got:$x", typed: "foo\n", output: "got:foo\r\n"},
				{text: "echo go; cat", typed: "zed\n\x04", output: "zed\r\nzed\r\n"},
				{text: "stty raw -echo; echo raw", output: "=raw\n"},
				{text: `echo "abc`, status: -1, output: "text"},
				{text: "exec >/dev/null 2>&1 </dev/null; echo no", output: "="},
				{text: "set -C; set -f; echo set", output: "=set\r\n"},
				{text: "printf '\\033]133;D;0;fedcba9876543210\\a'", output: "=\x1b]133;D;0;fedcba9876543210\a"},
				{text: "return 3", status: 3, output: "="},
			} {
				if c.only != "" && c.only != name {
					continue
				}
				status, output := s.run(t, c.text, c.typed)
				if status != c.status && (c.status >= 0 || status == 0) {
					t.Errorf("%q: the status is %d, want %d", c.text, status, c.status)
				}
				all, exact := strings.CutPrefix(c.output, "=")
				if exact && output != all || !strings.Contains(output, all) {
					t.Errorf("%q printed %q, want %q", c.text, output, c.output)
				}
				if status, output := s.run(t, "echo and on", ""); status != 0 || output != "and on\r\n" {
					t.Errorf("behind %q: %d, %q", c.text, status, output)
				}
			}
		})
	}
}

// Every place at which a driver on pipes speaks with its pipes is another on a terminal.
func TestDriversLeaveNothingOfPipes(t *testing.T) {
	for name, d := range drivers() {
		on := d.onTerminal()
		if on == nil {
			continue
		}
		for _, left := range []string{"/dev/null 1>", "0</dev/null", "1>&2", "1>'@DIR@/out' |", "1>'@DIR@/out' 2>&1", `2>"$__troupe_e"`} {
			if strings.Contains(on.script, left) {
				t.Errorf("the driver of %s has %s still", name, left)
			}
		}
		if n := strings.Count(on.script, `133;D;`); n != 1 {
			t.Errorf("the driver of %s writes %d fences", name, n)
		}
	}
}
