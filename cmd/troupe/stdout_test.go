package main

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// A reader that has seen enough ends the command, as it would end one that
// wrote to it by itself.
func TestAReaderThatLeavesEndsTheCommand(t *testing.T) {
	t.Parallel()
	p := program(t, "run", `sleep 600 & echo $!; echo $$; exec yes`).start()
	tree := p.pids()
	_ = p.pipe.Close()
	p.ends(128 + int(unix.SIGPIPE))
	gone(t, tree...)
	if got := p.err.String(); got != "" {
		t.Errorf("it says %q, which nobody wants to know", got)
	}
}

func TestHeadOfYes(t *testing.T) {
	t.Parallel()
	p := program(t).bash(`troupe run yes | head -1; echo ${PIPESTATUS[0]}`).start()
	if got := p.rest(); got != "y\n141\n" {
		t.Errorf("got %q", got)
	}
	p.ends(0)
}

// A full disk under stdout is reported, and the command is stopped.
func TestAFullStdoutIsTold(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"live": {"run", `echo $$ > pid; exec yes`}, "short": {"run", `echo $$ > pid; echo hi`}, "object": {"run", "--json", `echo $$ > pid; echo hi`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			p := program(t, flags...)
			p.Stdout = full
			p.start().ends(cli.StatusOwn)
			if got, want := p.err.String(), "troupe: cannot write stdout: no space left on its disk (free some, or redirect it elsewhere)\n"; got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
			pid, err := os.ReadFile(p.file("pid"))
			if err != nil {
				t.Fatal(err)
			}
			gone(t, strings.TrimSpace(string(pid)))
		})
	}
}

// If stdout does not take the id of a command that goes to the background, stderr names
// it.
func TestTheIDOfACommandThatGoesOnIsNotLost(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	left, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, left.Close())
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for i, flags := range [][]string{{"-b"}, {"-b", "--json"}, {"--detach"}, {"--detach", "--json"}, {"--promote-after", "1ms", "--json"}} {
		for to, status := range map[*os.File]int{w: 128 + int(unix.SIGPIPE), full: cli.StatusOwn} {
			name := fmt.Sprintf("%d-%d", i, status)
			p := d.beside(append(append([]string{"run", "--name", name}, flags...), "sleep 600")...)
			p.Stdout = to
			p.start().ends(status)
			if flags[0] == "--promote-after" { // it may be promoted before its process has started
				eventually(t, "the command runs", func() bool { return d.record(name)["state"] != "starting" })
			}
			job := d.record(name)
			require.Equal(t, "running", job["state"])
			require.Contains(t, p.err.String(), fmt.Sprintf("troupe: job %s ", job["id"]), flags)
			require.Equal(t, to == full, strings.Contains(p.err.String(), "cannot write stdout: no space left"), p.err)
		}
	}
}

// sequence writes what seq 1 n does.
func sequence(w io.Writer, n int) {
	buf := make([]byte, 0, 64<<10)
	for i := 1; i <= n; i++ {
		if buf = append(strconv.AppendInt(buf, int64(i), 10), '\n'); len(buf) > cap(buf)-32 {
			_, _ = w.Write(buf)
			buf = buf[:0]
		}
	}
	_, _ = w.Write(buf)
}

func sum(h hash.Hash) string { return fmt.Sprintf("%x", h.Sum(nil)) }

// A slow reader gets every byte. The command waits for it, as it would if it
// wrote to it by itself, and the memory of troupe does not grow.
func TestASlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	const n = 12_000_000 // 97 MB
	const most = 48 << 10
	p := program(t, "run", fmt.Sprintf("echo $$; exec seq 1 %d", n)).start()
	pid := p.line()
	waits(t, pid)
	got := sha256.New()
	buf := make([]byte, 16<<10)
	read, size := 0, 0
	for {
		k, err := p.out.Read(buf)
		got.Write(buf[:k])
		if read += k; read > 80<<20 && size == 0 {
			size = peak(t, p.Process.Pid) // it cannot have ended: there is more to write than a pipe holds
		}
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	p.ends(0)
	want := sha256.New()
	sequence(want, n)
	if sum(got) != sum(want) {
		t.Errorf("%d bytes came, and they are others", read)
	}
	if size == 0 || size > most {
		t.Errorf("troupe has used %d KiB of memory, want at most %d", size, most)
	}
}

// waits returns when a process that writes waits for its reader: it is not
// running, and stays where it is. There is no event for it.
func waits(t *testing.T, pid string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	before := ""
	for deadline := time.Now().Add(tooLong); time.Now().Before(deadline); <-tick.C {
		b, err := os.ReadFile("/proc/" + pid + "/io")
		if err != nil {
			t.Fatalf("the command has ended and waited for nobody: %v", err)
		}
		if string(b) == before && strings.Contains(before, "wchar") {
			return
		}
		before = string(b)
	}
	t.Fatal("the command never waited for its reader")
}

// peak is the most memory that a process has had, in KiB.
func peak(t *testing.T, pid int) (kib int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}
