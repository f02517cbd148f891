package spill

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// victim is a file outside the store that nothing may read, change or remove.
type victim struct{ dir, path string }

var secret = []byte("nothing of a store's")

func newVictim(t *testing.T) victim {
	t.Helper()
	dir := t.TempDir()
	v := victim{dir, filepath.Join(dir, "secret")}
	must(t, os.WriteFile(v.path, secret, 0o640))
	must(t, os.WriteFile(filepath.Join(dir, lockName), nil, 0o600))
	t.Cleanup(func() {
		got, err := os.ReadFile(v.path)
		if err != nil || !bytes.Equal(got, secret) {
			t.Errorf("the file outside holds %q: %v", got, err)
		}
		if names := files(t, dir); len(names) != 3 {
			t.Errorf("the directory outside holds %v", names)
		}
	})
	return v
}

// plants are the things that somebody may have put where a file is to be.
var plants = map[string]func(t *testing.T, v victim, path string){
	"a link to a file":      func(t *testing.T, v victim, path string) { must(t, os.Symlink(v.path, path)) },
	"a link to a directory": func(t *testing.T, v victim, path string) { must(t, os.Symlink(v.dir, path)) },
	"a second name":         func(t *testing.T, v victim, path string) { must(t, os.Link(v.path, path)) },
	"a queue":               func(t *testing.T, _ victim, path string) { must(t, unix.Mkfifo(path, 0o600)) },
	"a socket":              func(t *testing.T, _ victim, path string) { must(t, unix.Mknod(path, unix.S_IFSOCK|0o600, 0)) },
	"a directory":           func(t *testing.T, _ victim, path string) { must(t, os.Mkdir(path, 0o700)) },
}

// S11: what stands where a log is to be made is neither followed nor written to.
// A directory is in the way until it is gone; its bytes wait in the pipe.
func TestSecurityPlantedFile(t *testing.T) {
	for kind, plant := range plants {
		for _, suffix := range []string{"", newSuffix} {
			t.Run(kind+suffix, func(t *testing.T) {
				d := newDisk(t)
				home, err := d.Dir()
				must(t, err)
				path := filepath.Join(home, sessionsDir, "default", "j1.merged.log")
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				plant(t, newVictim(t), path+suffix)
				w, p := create(t, d, "j1", Plan{Inline: -1}), newPipe(t)
				if kind == "a directory" {
					blocked(t, w, p, text(60_000), unix.EISDIR)
					must(t, os.Remove(path+suffix))
					unblocked(t, w, p)
				} else {
					push(t, w, p, text(60_000))
				}
				want(t, d, "j1", text(60_000), nil, 0)
				if st, err := os.Lstat(path); err != nil || st.Mode() != 0o600 || w.State().File != path {
					t.Errorf("the log %s is a %v: %v", w.State().File, st.Mode(), err)
				}
			})
		}
	}
}

// S11: a log whose file was exchanged while nobody had it open is lost, and what
// is there instead is not taken for it.
func TestSecurityExchangedFile(t *testing.T) {
	for kind, plant := range plants {
		t.Run(kind, func(t *testing.T) {
			d := newDisk(t, func(o *Options) { o.Limits.Files = 1 })
			w, path := outgrown(t, d, "j1", 100_000)
			outgrown(t, d, "j2", 60_000) // takes the only place in the cache
			must(t, os.Remove(path))
			plant(t, newVictim(t), path)
			lost := []Gap{{0, 100_000}}
			want(t, d, "j1", text(100_000), lost, Unlinked)
			p := newPipe(t)
			if kind == "a directory" {
				blocked(t, w, p, text(150_000)[100_000:], unix.EISDIR)
				must(t, os.Remove(path))
				unblocked(t, w, p)
			} else {
				push(t, w, p, text(150_000)[100_000:])
			}
			want(t, d, "j1", text(150_000), lost, Unlinked)
		})
	}
}

// S11: a log whose file has got another name while nobody had it open is lost: what is written
// would be in another file, too. An exchanged file can have the number of the old one.
func TestSecurityFileOfTwoNames(t *testing.T) {
	d := newDisk(t, func(o *Options) { o.Limits.Files = 1 })
	w, path := outgrown(t, d, "j1", 100_000)
	outgrown(t, d, "j2", 60_000) // takes the only place in the cache
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.Link(path, other))
	lost := []Gap{{0, 100_000}}
	want(t, d, "j1", text(100_000), lost, Unlinked)
	push(t, w, newPipe(t), text(150_000)[100_000:])
	want(t, d, "j1", text(150_000), lost, Unlinked)
	if st, err := os.Stat(other); err != nil || st.Size() != 100_000 {
		t.Errorf("the other name is %+v, %v", st, err)
	}
}

// A directory that others may enter, or that is not one, gets no output: the
// bytes wait until it is ours alone again.
func TestSecurityDirectoryOfOthers(t *testing.T) {
	for kind, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		err   error
	}{
		"open":   {func(t *testing.T, path string) { must(t, os.Chmod(path, 0o770)) }, errNotOurs},
		"a file": {func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.WriteFile(path, nil, 0o600)) }, unix.ENOTDIR},
		"a link": {func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Symlink(newVictim(t).dir, path))
		}, unix.ENOTDIR},
	} {
		t.Run(kind, func(t *testing.T) {
			d := newDisk(t)
			home, err := d.Dir()
			must(t, err)
			path := filepath.Join(home, sessionsDir, "build")
			must(t, os.MkdirAll(path, 0o700))
			c.spoil(t, path)
			w, p := create(t, d, "j1", Plan{Group: "build"}), newPipe(t)
			push(t, w, p, text(InlineLimit+1)) // in memory it needs no directory
			blocked(t, w, p, text(100_000)[InlineLimit+1:], c.err)
			must(t, os.RemoveAll(path))
			unblocked(t, w, p)
			want(t, d, "j1", text(100_000), nil, 0)
		})
	}
}

// blocked gives bytes to a log that cannot take them all: the rest stays in the
// pipe.
func blocked(t *testing.T, w *writer, p *pipe, b []byte, want error) {
	t.Helper()
	p.write(t, b)
	var err error
	for err == nil {
		_, err = w.Splice(p.r, 1<<20)
	}
	var refusal *Blocked
	if !errors.As(err, &refusal) || !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

// unblocked moves what waits in the pipe.
func unblocked(t *testing.T, w *writer, p *pipe) {
	t.Helper()
	for {
		_, err := w.Splice(p.r, 1<<20)
		if err == unix.EAGAIN {
			return
		}
		must(t, err)
	}
}

// A sweep follows no link out of the root, and nothing strange that lies there
// keeps it from what is dead.
func TestSecuritySweepOfAHostileRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	v := newVictim(t)
	dead := filepath.Join(root, deadNode)
	must(t, os.MkdirAll(filepath.Join(dead, sessionsDir), 0o700))
	must(t, os.WriteFile(filepath.Join(dead, lockName), nil, 0o600))
	for kind, plant := range plants {
		name := string(bytes.ReplaceAll([]byte(kind), []byte(" "), []byte("_")))
		for _, path := range []string{
			filepath.Join(dead, sessionsDir, name), // inside of what is dead
			filepath.Join(root, name),              // in place of a node
			filepath.Join(root, name+deadSuffix),   // of one on its way out
			filepath.Join(root, name+newSuffix),    // of one that begins
		} {
			plant(t, v, path)
		}
		must(t, os.Mkdir(filepath.Join(root, "lock-is-"+name), 0o700))
		plant(t, v, filepath.Join(root, "lock-is-"+name, lockName))
	}
	d := newDisk(t, func(o *Options) { o.Root = root })
	_, err := d.Sweep() // it may say what it did not like
	t.Log(err)
	if _, err := os.Lstat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is dead is still there: %v", err)
	}
	for _, name := range []string{"a_link_to_a_file", "a_link_to_a_directory", "lock-is-a_link_to_a_file", "lock-is-a_link_to_a_directory"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err != nil {
			t.Errorf("%s was no node's: %v", name, err)
		}
	}
}
