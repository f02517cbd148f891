package artifact

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/internal/test/need"
	"troupe/spill"
)

func newDir(t testing.TB, parent, name string) *Dir {
	t.Helper()
	d, err := NewDir(parent, name)
	must(t, d, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func path(t testing.TB, d *Dir) string {
	t.Helper()
	p, err := d.Path()
	return must(t, p, err)
}

// abandoned is the directory of an owner that died: its lock is free.
func abandoned(t testing.TB, parent, name string) string {
	t.Helper()
	d := newDir(t, parent, name)
	f, err := d.Create("old.txt")
	_, _ = must(t, f, err).Write([]byte("old"))
	_ = f.Close()
	p := path(t, d)
	d.mu.Lock()
	d.free()
	d.mu.Unlock()
	return p
}

func modeOf(t testing.TB, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	return must(t, info, err).Mode()
}

func gone(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is still there (%v)", path, err)
	}
}

func TestR166_TheDirectoryOfASessionIsItsAlone(t *testing.T) {
	parent := t.TempDir()
	d := newDir(t, parent, "opencode-ses_1")
	if entries, _ := os.ReadDir(parent); len(entries) > 0 {
		t.Fatal("the directory is there before it is needed")
	}
	f, err := d.Create("bash-1-stdout.txt")
	f = must(t, f, err)
	is(t, "path", f.Path, filepath.Join(parent, "opencode-ses_1", "bash-1-stdout.txt"))
	is(t, "directory", modeOf(t, filepath.Dir(f.Path)), fs.ModeDir|0o700)
	is(t, "file", modeOf(t, f.Path), 0o600)
	is(t, "cap", PersistBytes, 104_857_600)
}

func TestR167_FilesOfStreamsAreNamedForThem(t *testing.T) {
	at := time.Unix(1, 234)
	is(t, "stdout", StreamName(at, "stdout"), "bash-1000000234-stdout.txt")
	is(t, "stderr", StreamName(at, "stderr"), "bash-1000000234-stderr.txt")
	is(t, "both", StreamName(at, ""), "bash-1000000234.txt")
}

func TestR168_AClashTakesANewTimestamp(t *testing.T) {
	d := newDir(t, t.TempDir(), "s")
	at := time.Unix(0, 7)
	name := func(try int) string { return StreamName(at.Add(time.Duration(try)), "stdout") }
	var names []string
	for range 3 {
		f, err := d.CreateNew(name)
		names = append(names, must(t, f, err).Name)
	}
	is(t, "names", strings.Join(names, " "), "bash-7-stdout.txt bash-8-stdout.txt bash-9-stdout.txt")
	if _, err := d.Create(names[0]); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a file was made twice: %v", err)
	}
	if _, err := d.CreateNew(func(int) string { return names[0] }); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("looking for a name has no end: %v", err)
	}
}

func TestR175_WithoutADirectoryThereIsAnErrorAndNothingElse(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(parent, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDir(t, parent, "s")
	f, err := d.Create("a")
	if f != nil || err == nil {
		t.Fatalf("made %v in a file", f)
	}
	w := NewTailBuffer(4, func() (*File, error) { return d.Create("a") })
	_, _ = w.Write([]byte("more than four"))
	if s := w.Close(""); s.File != nil || s.Text != "four" || !s.Truncated {
		t.Fatalf("without a file the window shows %+v", s)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "a/b", "a\x00", spill.OwnerLock, strings.Repeat("x", 256)} {
		if _, err := newDir(t, t.TempDir(), "s").Create(name); !errors.Is(err, ErrName) {
			t.Errorf("%q is taken for a name: %v", name, err)
		}
	}
	if _, err := NewDir("relative", "s"); err == nil {
		t.Error("a directory that is relative to nothing")
	}
	if _, err := NewDir("/tmp", "../s"); !errors.Is(err, ErrName) {
		t.Errorf("a name that leads out: %v", err)
	}
}

func TestR176_ParallelCallsShareTheDirectoryAndNoName(t *testing.T) {
	d := newDir(t, t.TempDir(), "s")
	at := time.Unix(0, 1)
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			dir, err := d.Path()
			f, ferr := d.CreateNew(func(try int) string { return StreamName(at.Add(time.Duration(try)), "stdout") })
			mu.Lock()
			defer mu.Unlock()
			if err != nil || ferr != nil || seen[f.Path] || filepath.Dir(f.Path) != dir {
				t.Errorf("%v, %v, %+v", err, ferr, f)
				return
			}
			seen[f.Path] = true
		})
	}
	wg.Wait()
	is(t, "files", len(seen), 16)
}

func TestR177_TheDirectoryGoesWithItsSession(t *testing.T) {
	parent := t.TempDir()
	d := newDir(t, parent, "s")
	f, err := d.Create("a")
	must(t, f, err)
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(parent)
	is(t, "left behind", len(must(t, entries, err)), 0)
	if _, err := d.Create("b"); !errors.Is(err, ErrClosed) {
		t.Fatalf("a file behind the end: %v", err)
	}

	t.Run("what the dead leave is swept", func(t *testing.T) {
		parent := t.TempDir()
		dead := abandoned(t, parent, "opencode-dead")
		kept := abandoned(t, parent, "opencode-kept")
		other := abandoned(t, parent, "other-dead")
		alive := path(t, newDir(t, parent, "opencode-alive"))
		foreign := filepath.Join(parent, "opencode-foreign") // no Dir made it
		open := filepath.Join(parent, "opencode-open")       // others may look into it
		half := filepath.Join(parent, "opencode-x.ABC"+spill.DeadSuffix)
		for _, p := range []string{foreign, open, half} {
			if err := os.Mkdir(p, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(alive, filepath.Join(parent, "opencode-link")); err != nil {
			t.Fatal(err)
		}
		swept, err := Sweep(parent, "opencode-", func(name string) bool { return name == "opencode-kept" })
		is(t, "swept", strings.Join(must(t, swept, err), " "), "opencode-dead opencode-x.ABC.dead")
		gone(t, dead)
		gone(t, half)
		for _, p := range []string{kept, other, alive, foreign, open} {
			modeOf(t, p)
		}
		if _, err := Sweep(filepath.Join(parent, "none"), "", nil); err != nil {
			t.Fatalf("a parent that is not there: %v", err)
		}
	})
	t.Run("an owner that is killed leaves what a sweep finds", func(t *testing.T) {
		parent := t.TempDir()
		owner := exec.Command(os.Args[0], "-test.run=^TestOwnerOfADirectory$")
		owner.Env = append(os.Environ(), ownerEnv+"="+parent)
		said, err := owner.StdoutPipe()
		hold, herr := owner.StdinPipe()
		if err := errors.Join(err, herr, owner.Start()); err != nil {
			t.Fatal(err)
		}
		defer hold.Close()
		line, err := bufio.NewReader(said).ReadString('\n')
		made := strings.TrimSpace(must(t, line, err))
		swept, err := Sweep(parent, "", nil)
		is(t, "swept while it lives", len(must(t, swept, err)), 0)
		if err := owner.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = owner.Wait() // it was killed
		modeOf(t, made)
		swept, err = Sweep(parent, "", nil)
		is(t, "swept", strings.Join(must(t, swept, err), " "), "killed")
		gone(t, made)
	})
	t.Run("what the dead left of this session leads on", func(t *testing.T) {
		parent := t.TempDir()
		old := abandoned(t, parent, "s")
		d := newDir(t, parent, "s")
		is(t, "path", path(t, d), old)
		is(t, "old file", content(t, filepath.Join(old, "old.txt")), "old")
	})
	t.Run("what is to stay stays", func(t *testing.T) {
		parent := t.TempDir()
		d := newDir(t, parent, "s")
		f, err := d.Create("a")
		must(t, f, err)
		if err := d.Leave(); err != nil {
			t.Fatal(err)
		}
		swept, err := Sweep(parent, "", nil)
		is(t, "swept", len(must(t, swept, err)), 0)
		modeOf(t, f.Path)
	})
	t.Run("a directory that was deleted is made again", func(t *testing.T) {
		d := newDir(t, t.TempDir(), "s")
		was := path(t, d)
		if err := os.RemoveAll(was); err != nil {
			t.Fatal(err)
		}
		f, err := d.Create("a")
		is(t, "path", filepath.Dir(must(t, f, err).Path), was)
	})
}

// ownerEnv names the parent of the directory that another process is to own.
const ownerEnv = "TROUPE_TEST_OWNER"

// TestOwnerOfADirectory is that process.
func TestOwnerOfADirectory(t *testing.T) {
	parent := os.Getenv(ownerEnv)
	if parent == "" {
		return
	}
	f, err := newDir(t, parent, "killed").Create("a")
	fmt.Println(filepath.Dir(must(t, f, err).Path))
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

func TestR293_OthersDirectoriesAndLinksAreNotFollowed(t *testing.T) {
	takenBy := map[string]func(t *testing.T, path string){
		"a link": func(t *testing.T, path string) {
			if err := os.Symlink(t.TempDir(), path); err != nil {
				t.Fatal(err)
			}
		},
		"a file": func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a directory others may read": func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"a directory with what is not ours to remove": func(t *testing.T, path string) {
			if err := os.MkdirAll(filepath.Join(path, "precious"), 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"a lock that is a link": func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/dev/null", filepath.Join(path, spill.OwnerLock)); err != nil {
				t.Fatal(err)
			}
		},
		"an owner who is alive": func(t *testing.T, p string) {
			path(t, newDir(t, filepath.Dir(p), filepath.Base(p)))
		},
	}
	for what, take := range takenBy {
		t.Run(what, func(t *testing.T) {
			parent := t.TempDir()
			taken := filepath.Join(parent, "s")
			take(t, taken)
			d := newDir(t, parent, "s")
			p := path(t, d)
			if p == taken || !strings.HasPrefix(p, taken+"-") || modeOf(t, p) != fs.ModeDir|0o700 {
				t.Fatalf("the session is at %s", p)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			gone(t, p)
			modeOf(t, taken)
		})
	}
	t.Run("another user", func(t *testing.T) {
		need.Root(t)
		parent := t.TempDir()
		taken := filepath.Join(parent, "s")
		if err := os.Mkdir(taken, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(taken, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if p := path(t, newDir(t, parent, "s")); p == taken {
			t.Fatal("the directory of another user was taken")
		}
	})
	t.Run("a parent everybody may change", func(t *testing.T) {
		parent := t.TempDir()
		if err := os.Chmod(parent, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := newDir(t, parent, "s").Path(); err == nil {
			t.Fatal("a directory that anybody can exchange was taken")
		}
		if err := os.Chmod(parent, 0o777|fs.ModeSticky); err != nil {
			t.Fatal(err)
		}
		path(t, newDir(t, parent, "s"))
	})
	t.Run("names", func(t *testing.T) {
		for id, want := range map[string]string{
			"ses_1.2-3": "ses_1.2-3", "../../etc": ".._.._etc", "..": "_..", "": "_", "a b\x00": "a_b_",
		} {
			is(t, fmt.Sprintf("%q", id), SessionName(id), want)
		}
	})
}
