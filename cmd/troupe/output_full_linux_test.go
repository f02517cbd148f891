package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/test/need"
)

// mounted is a file system of so many bytes, for a TMPDIR.
func mounted(t *testing.T, size int, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, strings.Join(append(more, fmt.Sprintf("size=%d,mode=0700", size)), ","))
	need.Feature(t, err == nil, "the right to mount a file system")
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// A command whose output fills the disk says so once, however large the limit is
// that it may reach, and goes on when there is room: nothing is lost.
func TestACommandWaitsForRoomOnAFullDisk(t *testing.T) {
	t.Parallel()
	const n = 1_000_000 // 7 MB
	for name, flags := range map[string][]string{"no limit": {"run"}, "far below a limit": {"run", "--max-output", "1GB:pause"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := mounted(t, 1<<20)
			p := program(t, append(flags, fmt.Sprintf("seq 1 %d", n))...)
			p.Env = append(p.Env, "TMPDIR="+dir)
			p.start()
			told := "troupe: cannot store the output in " + dir + ": the command waits until this is possible; troupe doctor may show why, Ctrl-C stops it\n"
			p.err.has(t, told)
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=64m"); err != nil {
				t.Fatal(err)
			}
			got, want := sha256.New(), sha256.New()
			if _, err := io.Copy(got, p.out); err != nil {
				t.Fatal(err)
			}
			p.ends(0)
			sequence(want, n)
			if sum(got) != sum(want) {
				t.Error("other bytes came")
			}
			if p.err.String() != told {
				t.Errorf("it said %q", p.err)
			}
		})
	}
}

// A place that was made when that was allowed, and may not be written any more,
// is none.
func TestACommandDoesNotWaitForADirectoryThatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	var dir, why string
	var forbid func() error
	if os.Geteuid() == 0 { // whom no mode keeps out
		dir, why = mounted(t, 1<<20), "read-only file system"
		forbid = func() error { return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "") }
	} else {
		dir, why = t.TempDir(), "permission denied"
		root := filepath.Join(dir, fmt.Sprintf("troupe-%d", os.Geteuid()))
		forbid = func() error { return os.Chmod(root, 0o500) }
		t.Cleanup(func() { _ = os.Chmod(root, 0o700) })
	}
	p := program(t, "run", "seq 1 100000")
	p.Env = append(p.Env, "TMPDIR="+dir)
	p.start().rest()
	p.ends(0)
	if err := forbid(); err != nil {
		t.Fatal(err)
	}
	p = program(t, "run", "echo $$ > pid; exec yes")
	p.Env = append(p.Env, "TMPDIR="+dir)
	p.Stdout = &lines{news: make(chan struct{}, 1)}
	p.start().ends(cli.StatusOwn)
	p.err.has(t, "troupe: cannot store the output in "+dir+": "+why+"; set TMPDIR to a directory of yours\n")
	pid, err := os.ReadFile(p.file("pid"))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, strings.TrimSpace(string(pid)))
}
