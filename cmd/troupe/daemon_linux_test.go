package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// At a terminal one types lines; one of those attached types, and the detach keys
// leave the job as it is.
func TestAttachedAtATerminal(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "-i", "--name", "talk", `trap 'echo asked' INT; echo begun; while read -r x || test $? -gt 128; do echo "got $x"; x=; done; exit 4`).start().ends(0)
	d.beside("wait", "--match", "begun", "talk").start().ends(0)
	first, p := openTerminal(t), d.beside("attach", "talk")
	p.at(first)
	first.keys(t, "hellx\x7fo\r")
	first.shown.has(t, "got hello")

	second, q := openTerminal(t), d.beside("attach", "--take", "talk")
	q.at(second)
	first.shown.has(t, "another client took the input lease; read-only (take it back: troupe attach --take ")
	second.keys(t, "mine\r")
	first.shown.has(t, "got mine")
	second.keys(t, "\x10\x11")
	second.shown.has(t, "left job talk, which continues; troupe attach talk comes back")
	q.ends(0)

	second, q = openTerminal(t), d.beside("attach", "--take", "talk")
	q.at(second)
	second.keys(t, "here\r") // from then on each key counts at once
	second.shown.has(t, "got here")
	d.beside("wait", "--input", "talk").start().ends(0) // bash handles a signal just before its read only after the read
	second.keys(t, "\x03")
	second.shown.has(t, "asked")
	second.keys(t, "\x04")
	q.ends(4)
	p.ends(4)
}

// Tables end at the edge of the terminal, however wide that is, and lose nothing that
// has room.
func TestTablesAtATerminal(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	word := strings.Repeat("word ", 60)
	d.beside("run", "-b", "--name", "long", "--scope", "main/ci", "sleep 600 # "+word).start().ends(0)
	d.beside("run", "-b", "--name", "wide", "sleep 600 # "+strings.Repeat("日本", 100)).start().ends(0)
	for _, width := range []int{40, 80, 200} {
		for _, verb := range []string{"ps", "sessions", "scopes", "stats"} {
			c, p := openTerminal(t), d.beside(verb)
			c.resize(t, 24, uint16(width))
			p.at(c)
			p.ends(0)
			shown := c.shown.String()
			widest := 0
			for line := range strings.Lines(shown) {
				widest = max(widest, out.Cells(strings.TrimRight(line, "\r\n")))
			}
			require.LessOrEqual(t, widest, width, "%s at %d:\n%s", verb, width, shown)
			if verb == "ps" {
				require.GreaterOrEqual(t, widest, width-1, "at %d:\n%s", width, shown)
				require.Equal(t, 2, strings.Count(shown, "…"), shown)
				require.Contains(t, shown, "sleep 600", "at %d", width)
				require.Regexp(t, `j2  wide  (main     )?running`, shown)
				require.Equal(t, width >= 80, strings.Contains(shown, "main/ci"), "at %d", width)
			}
		}
	}
	p := d.beside("ps").start()
	require.Contains(t, p.rest(), strings.TrimSpace(word)+"\n")
	p.ends(0)
}

// On a terminal what a job has printed does not act on it, unless that is asked for.
func TestSecurityLogsOnATerminal(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "--name", "evil", `printf 'a\033]52;c;x\007\033[31mred\033[2Jb\n'`).start().ends(0)
	d.beside("wait", "evil").start().ends(0)
	for _, args := range [][]string{{"logs", "evil"}, {"logs", "-f", "evil"}, {"logs", "-n", "1", "evil"}, {"logs", "--head", "1", "evil"}} {
		c, p := openTerminal(t), d.beside(args...)
		p.at(c)
		p.ends(0)
		require.Contains(t, c.shown.String(), "a\x1b[31mredb\r\n\x1b[0m", "%v", args)
	}
	c, p := openTerminal(t), d.beside("logs", "--raw", "evil")
	p.at(c)
	p.ends(0)
	require.Contains(t, c.shown.String(), "\x1b[2J")
	p = d.beside("logs", "evil").start()
	require.Contains(t, p.rest(), "\x1b]52;c;x")
	p.ends(0)
}

// A daemon whose socket fails says so, and its jobs go on.
func TestAFailedDaemonTouchesNoJob(t *testing.T) {
	t.Parallel()
	p, l, file := activated(t)
	p.beside("run", "-b", "--name", "lasts", "echo $$; exec sleep 600").start().ends(0)
	p.beside("wait", "--match", ".", "lasts").start().ends(0)
	require.NoError(t, unix.Shutdown(int(file.Fd()), unix.SHUT_RDWR))
	p.ends(cli.StatusOwn)
	p.err.has(t, "troupe: cannot serve ")
	require.NoError(t, file.Close())
	require.NoError(t, l.Close())

	next := p.beside("serve").start()
	next.err.has(t, `"message":"ready"`)
	q := p.beside("logs", "lasts").start()
	require.True(t, alive(q.line()))
	p.beside("shutdown", "--stop-jobs", "--grace", "0").start().ends(0)
}

// What ends while no daemon runs keeps its own end, though its client has gone.
func TestACommandEndsWithoutADaemon(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	open := gate(t, d.file("gate"))
	p := d.beside("run", "--name", "mine", "echo $$; read x < gate; exit 5").start()
	main := handle(t, p.line())
	d.send(syscall.SIGKILL)
	p.ends(125)
	<-d.ended
	open()
	n, err := unix.Poll([]unix.PollFd{main}, int(tooLong.Milliseconds()))
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{main}, int(tooLong.Milliseconds()))
	}
	require.NoError(t, err)
	require.Equal(t, 1, n, "it lives")
	d.beside("serve").start().err.has(t, `"message":"ready"`)
	d.beside("wait", "mine").start().ends(5)
	require.Equal(t, string(messages.Exited), d.record("mine")["outcome"])
	d.beside("shutdown").start().ends(0)
}

// A client does not wait forever for a daemon that does not become ready, or for another
// process that starts one and does not finish. It reports that, and starts nothing.
func TestTheStartOfADaemonHasADeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, locked, says string }{
		{"the daemon hangs", "troupe-0", "was not ready within 10s (see "},
		{"another one starts it", "troupe/" + config.StartName, "another troupe did not finish the start of the daemon within 10s (see "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := program(t, "run", "-b", "echo > started")
			require.NoError(t, os.Mkdir(p.file("troupe"), 0o700))
			require.NoError(t, os.Mkdir(p.file("troupe-0"), 0o700))
			p.Env = append(p.Env, "TROUPE_SOCKET="+p.file("troupe-0/s")) // whose directory a daemon locks while it begins
			at := p.file(c.locked)
			if strings.HasSuffix(at, ".lock") {
				require.NoError(t, os.WriteFile(at, nil, 0o600))
			}
			lock, err := os.Open(at)
			require.NoError(t, err)
			defer lock.Close()
			require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
			p.start().ends(cli.StatusOwn)
			require.Contains(t, p.err.String(), c.says)
			require.NoFileExists(t, p.file("started"))
			require.NoError(t, lock.Close()) // one that hangs goes on, and the next finds it
			q := p.beside("run", "-b", "true").start()
			q.ends(0)
			p.beside("shutdown", "--stop-jobs").start().ends(0)
		})
	}
}

// A client finds a daemon that another process has started, even if the daemon has no
// socket yet when the client starts its own: that one finds the state directory locked.
func TestADaemonOnItsWayIsFound(t *testing.T) {
	t.Parallel()
	p := programFor(t, long, "serve")
	require.NoError(t, os.Mkdir(p.file("troupe-0"), 0o700))
	p.Env = append(p.Env, "TROUPE_SOCKET="+p.file("troupe-0/s")) // whose directory a daemon locks while it begins
	lock, err := os.Open(p.file("troupe-0"))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	p.start()
	t.Cleanup(p.swept)
	eventually(t, "a daemon that has the state directory", func() bool { return isLocked(p.file("troupe/" + config.LockName)) })
	q := p.beside("run", "-b", "true").start()
	eventually(t, "who starts another", func() bool { return isLocked(p.file("troupe/" + config.StartName)) })
	late := time.Now().Add(connect.WayPatience / 4) // else it was there, and was not seen
	eventually(t, "another that wants it", func() bool { return len(launched(p.file("troupe"))) > 0 || time.Now().After(late) })
	require.NoError(t, lock.Close())
	q.ends(0)
	require.NotContains(t, q.err.String(), "started the daemon")
}

// isLocked reports whether a process has locked a file, which may not exist.
func isLocked(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}

// launched are the daemons of a state directory that a client has started.
func launched(state string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), "\x00serve\x00") && strings.Contains(string(text), "\x00--state\x00"+state+"\x00") {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// A run at a terminal reports that its command in the daemon waits until its output can
// be stored.
func TestAHeldCommandInTheDaemonIsTold(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	c, p := openTerminal(t), d.beside("run", "--max-output", "1000:pause", "head -c 100000 /dev/zero | tr '\\0' x; echo over")
	p.at(c)
	c.shown.has(t, "the output has reached its limit of 1000 B: the command waits; Ctrl-C stops it")
	p.send(syscall.SIGINT)
	p.ends(130)
}

// So is one that waits for room on the disk, which the journal of the daemon shares:
// it can record nothing of it.
func TestACommandHeldByAFullDiskInTheDaemonIsTold(t *testing.T) {
	t.Parallel()
	state := mounted(t, 24<<20)
	t.Cleanup(func() { endKeeper(state) })
	d := serves(t, []string{"TROUPE_STATE=" + state})
	open := gate(t, d.file("gate"))
	c, p := openTerminal(t), d.beside("run", "echo begun; read x < gate; seq 1 100000; echo over")
	out := &lines{news: make(chan struct{}, 1)}
	p.Stdout = out
	p.at(c)
	out.has(t, "begun")
	full := filepath.Join(state, "full")
	fill(t, full)
	open()
	c.shown.has(t, "troupe: the daemon cannot store the output: the command waits until it can; troupe doctor may show why, Ctrl-C stops it")
	require.NoError(t, os.Remove(full))
	p.ends(0)
	require.True(t, strings.HasSuffix(out.String(), "\n99999\n100000\nover\n"))
}

// fill writes a file until nothing more fits.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	for piece := make([]byte, 64<<10); len(piece) > 0; {
		if _, err := file.Write(piece); err != nil {
			require.ErrorIs(t, err, unix.ENOSPC)
			piece = piece[:len(piece)/2]
		}
	}
}
