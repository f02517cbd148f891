package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/backends/snapshot"
	"troupe/internal/test/hostile"
	"troupe/messages"
)

func TestMain(m *testing.M) {
	if code, ours := hostile.Main(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// Whatever the user's file does: there is a snapshot in which f works, or it is said why
// there is none. Both come in bounded time, and nothing is left.
func TestHostileStartFiles(t *testing.T) {
	const f = "f() { echo f; }\n"
	for _, c := range []struct{ name, rc, refused string }{
		{"prints", "echo out; echo err >&2; printf '\\0\\0\\0'\n" + f, ""},
		{"fails", f + "false\n", ""},
		{"a syntax error", f + "if then\n", ""},
		{"ends", f + "exit 3\n", "ended or replaced the shell (exit 3)"},
		{"ends where it is interactive", f + "[[ $- == *i* ]] && exit 3\n", ""},
		{"becomes another program", f + "exec true\n", "ended or replaced the shell (exit 0)"},
		{"becomes another where it is interactive", f + "[[ $- == *i* ]] && exec true\n", ""},
		{"hangs", f + "sleep 100\n", "did not come to its end within 2s, and was killed"},
		{"hangs for ever, deaf", "trap '' TERM INT HUP\n" + f + "while :; do :; done\n", "did not come to its end"},
		{"becomes what hangs", "exec sleep 100\n", "did not come to its end"},
		{"kills itself", "kill -9 $$\n", "signal KILL"},
		{"reads", "read -r x\nread -rsp secret: y </dev/tty\n" + f, ""},
		{"set -e", "set -e\n" + f + "false\n", ""},
		{"set -u", "set -u\n" + f, ""},
		{"set -x", "set -x\nexec 2>/dev/null\n" + f, ""},
		{"set -f and IFS", "set -f\nIFS=xyz\nreadonly IFS\n" + f, ""},
		{"posix", "set -o posix\n" + f, ""},
		{"onecmd", "set -t\n" + f, ""},
		{"closes everything", f + "exec >&- 2>&- <&-\n", ""},
		{"redirects everything", f + "exec >/dev/null 2>&1 </dev/zero\n", ""},
		{"writes to every descriptor", "for n in 3 4 5 6 7 8 9; do echo x >&$n; done\n" + f, ""},
		{"takes descriptor 3", "exec 3>/dev/null\necho x >&3\n" + f, ""},
		{"traps", "trap 'echo debug' DEBUG\ntrap 'echo exit; sleep 100' EXIT\ntrap 'echo err' ERR\n" + f, ""},
		{"redefines builtins", "builtin() { echo x; }; printf() { echo x; }; declare() { echo x; }; unset() { echo x; }; set() { :; }; local() { :; }; trap() { :; }\nalias builtin=x printf=x\n" + f, ""},
		{"aliases of keywords", "shopt -s expand_aliases\nalias if=x for=y case=z do=w '[['=v\n" + f, ""},
		{"prints for each command", f + "PROMPT_COMMAND='echo p'\n", ""},
		{"cd that is broken", f + "cd() { no_such_helper \"$@\"; }\n", ""},
		{"cd that prints", f + "cd() { builtin cd \"$@\" && ls; }\n", ""},
		{"cd that ends the shell", f + "cd() { exit 4; }\n", ""},
		{"many functions", "for i in {1..3000}; do eval \"f$i() { echo $i; }\"; done\n" + f, ""},
		{"many aliases", "for i in {1..3000}; do alias a$i=$i; done\n" + f, ""},
		{"a text without end", "x=xxxxxxxx; for i in {1..20}; do x=$x$x; done; PATH=$PATH:$x\n" + f, "more than 8 MiB"},
		{"a large function", "x=xxxxxxxx; for i in {1..15}; do x=$x$x; done; eval \"big() { echo '$x'; }\"\n" + f, ""},
		{"a huge PATH", "PATH=$PATH:$(head -c 200000 /dev/zero | tr '\\0' x)\n" + f, "a command fails with it"},
		{"odd names", "function a/b { :; }\nfunction = { :; }\nfunction '[' { :; }\nfunction ü.x { echo; }\n" + f, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			limit := plenty
			if strings.Contains(c.refused, "come to its end") {
				limit = 0 // the one that users have
			}
			b := newBench(t, limit)
			b.start(".bashrc", c.rc)
			begun := time.Now()
			if c.refused != "" {
				if why := b.refused(bash(t)); !strings.Contains(why, c.refused) {
					t.Errorf("it says: %s", why)
				}
			} else {
				file, _ := b.made(bash(t))
				if got := b.under(bashArgs(t), file, "f"); got != "f\n" {
					t.Errorf("got %q", got)
				}
			}
			if took := time.Since(begun); limit == 0 && (took < snapshot.Limit || took > plenty) {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// At most 1000 lines are aliases.
func TestSnapshotBoundsAliases(t *testing.T) {
	b := newBench(t, plenty)
	b.start(".bashrc", "for i in {1..1500}; do alias a$i=$'x\\ny'; done\n")
	_, text := b.made(bash(t))
	if n := strings.Count(text, "alias -- a"); n != 500 {
		t.Errorf("%d aliases of two lines", n)
	}
}

// The whole tree of a file that hangs is killed, whatever it does to escape; and what a
// file leaves behind that comes to its end is ended, too.
func TestSnapshotKillsTheTree(t *testing.T) {
	for name, then := range map[string]string{"hangs": "wait; sleep 100\n", "ends": "f() { :; }\n"} {
		t.Run(name, func(t *testing.T) {
			limit := plenty
			if name == "hangs" {
				limit = 0
			}
			b := newBench(t, limit)
			tree := hostile.Tree{Roots: 4, Token: fmt.Sprint(os.Getpid(), t.Name()), Leave: true, Kinds: []hostile.Kind{hostile.Plain, hostile.Ignoring}}
			b.start(".bashrc", "'"+strings.Join(tree.Command(), "' '")+"'\n"+then)
			if name == "hangs" {
				has(t, b.refused(bash(t)), "was killed")
			} else {
				b.made(bash(t))
			}
			if left := tree.Alive(); len(left) > 0 {
				t.Errorf("%d processes are left: %v", len(left), left)
			}
		})
	}
}

// Why there is none is remembered, and found out again when the file is another.
func TestSnapshotFailureIsRemembered(t *testing.T) {
	b := newBench(t, plenty)
	b.start(".bashrc", "exit 3\n")
	why := b.refused(bash(t))
	started := len(b.engine.started())
	if again := b.refused(bash(t)); again != why || len(b.engine.started()) != started {
		t.Errorf("found out again: %s", again)
	}
	b.start(".bashrc", "f() { :; } # mended\n")
	b.made(bash(t))
}

// A node that ends does not wait for the user's file.
func TestSnapshotEndsWithTheNode(t *testing.T) {
	b := newBench(t, plenty)
	fifo := filepath.Join(b.home, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	b.start(".bashrc", "echo begun >"+fifo+"; sleep 100\n")
	done, begins := make(chan *messages.Error, 1), make(chan error, 1)
	go func() {
		_, why := b.of(bash(t))
		done <- why
	}()
	go func() {
		_, err := os.ReadFile(fifo)
		begins <- err
	}()
	select {
	case err := <-begins:
		if err != nil {
			t.Fatal(err)
		}
	case why := <-done:
		t.Fatal(why)
	}
	begun := time.Now()
	if err := b.maker.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > plenty/2 { // the maker may take plenty
		t.Errorf("it took %s", took)
	}
	if why := <-done; why == nil {
		t.Error("there is one")
	}
}

// A directory that others could enter is not used.
func TestSecuritySnapshotDirectory(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"open to others": func(dir string) error { return os.Mkdir(dir, 0o755) },
		"a link":         func(dir string) error { return os.Symlink(filepath.Dir(dir), dir) },
		"a file":         func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, plenty)
			node, err := b.store.Dir()
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(node, "snapshots")
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			has(t, b.refused(bash(t)), "cannot write it")
			if err := os.Remove(dir); err != nil {
				t.Errorf("something was written: %v", err)
			}
		})
	}
}
