package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// changes are ways in which users and their tools change a file, beside its size. Each makes a
// snapshot anew; nothing else does.
var changes = map[string]func(t *testing.T, file, text string){
	"written":  func(t *testing.T, file, text string) { write(t, file, text) },
	"size":     func(t *testing.T, file, text string) { keepTime(t, file, func() { write(t, file, text+"\n") }) },
	"time":     func(t *testing.T, file, text string) { write(t, file, text); touch(t, file, time.Unix(1e9, 1)) },
	"replaced": func(t *testing.T, file, text string) { keepTime(t, file, func() { exchange(t, file, text) }) },
	"a link": func(t *testing.T, file, text string) {
		keepTime(t, file, func() {
			write(t, file+".new", text)
			check(t, os.Remove(file))
			check(t, os.Symlink(file+".new", file))
		})
	},
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file, whose time surely differs from the one before.
func write(t *testing.T, file, text string) {
	t.Helper()
	check(t, os.WriteFile(file, []byte(text), 0o600))
	touch(t, file, time.Now().Add(time.Hour))
}

func touch(t *testing.T, file string, at time.Time) {
	t.Helper()
	check(t, os.Chtimes(file, at, at))
}

// exchange puts another file in its place, as editors do.
func exchange(t *testing.T, file, text string) {
	t.Helper()
	write(t, file+".new", text)
	check(t, os.Rename(file+".new", file))
}

// keepTime makes a change that leaves the time as it was.
func keepTime(t *testing.T, file string, change func()) {
	t.Helper()
	info, err := os.Stat(file)
	check(t, err)
	change()
	touch(t, file, info.ModTime())
}

// When the user's file changes, the next shell that needs it has a new snapshot; the one before
// it is still there for a shell that is just starting, and no other.
func TestFaultSnapshotFollowsTheUsersFiles(t *testing.T) {
	for name, change := range changes {
		for _, at := range []string{".bashrc", ".aliases", ".cargo/env"} {
			t.Run(name+" "+at, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, plenty)
				file := filepath.Join(b.home, at)
				check(t, os.MkdirAll(filepath.Dir(file), 0o700))
				b.start(".bashrc", "[ -r ~/.aliases ] && . ~/.aliases; if [[ -f \"$HOME/.cargo/env\" ]]; then source \"$HOME/.cargo/env\"; fi\nf() { echo 1; }\n")
				text := "f() { echo 1; }\n"
				if at != ".bashrc" {
					write(t, filepath.Join(b.home, ".bashrc"), ". ~/.aliases\nsource \"$HOME/.cargo/env\"\n")
					write(t, file, text)
				}
				files := []string{first(b.made(bash(t)))}
				for n := 2; n < 5; n++ {
					change(t, file, strings.ReplaceAll(text, "1", string(rune('0'+n))))
					next, _ := b.made(bash(t))
					if got := b.under(bashArgs(t), next, "f"); got != string(rune('0'+n))+"\n" {
						t.Fatalf("change %d: got %q", n, got)
					}
					started := len(b.engine.started())
					if again, _ := b.made(bash(t)); again != next || len(b.engine.started()) != started {
						t.Errorf("made again without a change: %s", again)
					}
					files = append(files, next)
					if name != "written" && name != "replaced" {
						break // these happen once
					}
				}
				for i, file := range files {
					_, err := os.Stat(file)
					if there := i >= len(files)-2; there != (err == nil) {
						t.Errorf("snapshot %d of %d: %v", i+1, len(files), err)
					}
				}
			})
		}
	}
}

func first(file, _ string) string { return file }

// A file that is created, removed or broken is a change, too.
func TestFaultSnapshotFollowsFilesThatComeAndGo(t *testing.T) {
	b := newBench(t, plenty)
	aliases := filepath.Join(b.home, ".aliases")
	b.start(".bashrc", "[ -r ~/.aliases ] && . ~/.aliases\n")
	_, text := b.made(bash(t))
	lacks(t, text, "f () ")
	write(t, aliases, "f() { :; }\n")
	_, text = b.made(bash(t))
	has(t, text, "f () ")
	write(t, aliases, "exit 3\n")
	has(t, b.refused(bash(t)), "ended or replaced the shell")
	write(t, aliases, "g() { :; } # mended\n")
	_, text = b.made(bash(t))
	has(t, text, "g () ")
	check(t, os.Remove(aliases))
	_, text = b.made(bash(t))
	lacks(t, text, "g () ")
}

// Other shells have other files.
func TestFaultSnapshotFollowsTheFilesOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		start string
		args  []string
	}{"zsh": {".zshrc", []string{"-f"}}, "sh": {".profile", nil}} {
		t.Run(name, func(t *testing.T) {
			path := shellAt(t, name)
			b := newBench(t, plenty)
			for _, word := range []string{"one", "two"} {
				write(t, filepath.Join(b.home, c.start), "alias a='echo "+word+"'\n")
				file, _ := b.made(path)
				if got := b.under(append([]string{path}, c.args...), file, "eval a"); got != word+"\n" {
					t.Errorf("got %q, want %s", got, word)
				}
			}
		})
	}
}
