package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func put(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestR085_IdsGoOnBehindTheLargest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifacts")
	s := NewStore(dir)
	gone(t, dir) // made lazily
	make := func(tool string) string {
		f, err := s.Create(tool)
		f = must(t, f, err)
		if _, err := f.Write([]byte("text")); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		is(t, "path", f.Path, filepath.Join(dir, f.ID+"."+tool+".log"))
		return f.Name
	}
	is(t, "first", make(ToolBash), "0.bash.log")
	is(t, "second", make(ToolBashOriginal), "1.bash-original.log")
	put(t, dir, "7.async.log", "9.async.txt", "x10.bash.log", "99999999999999999999.bash.log", "11", ".12.claim")
	is(t, "behind what others made", make(ToolAsync), "8.async.log")
	s = NewStore(dir)
	is(t, "another session", make(ToolBash), "9.bash.log")
	put(t, dir, "11.bash.log")
	is(t, "an id that somebody claims", make(ToolBash), "13.bash.log")
	entries, err := os.ReadDir(dir)
	is(t, "no claim is left but the foreign one", strings.Count(strings.Join(names(must(t, entries, err)), " "), "claim"), 1)

	t.Run("an id that somebody took before it was claimed", func(t *testing.T) {
		put(t, dir, "14.async.log")
		root, err := os.OpenRoot(dir)
		defer must(t, root, err).Close()
		if f, err := s.try(root, ToolBash); f != nil || err != nil || s.next != 15 {
			t.Fatalf("made %+v, %v; next is %d", f, err, s.next)
		}
		gone(t, filepath.Join(dir, ".14.claim"))
	})

	t.Run("parallel", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "artifacts")
		shared := NewStore(dir)
		var mu sync.Mutex
		var got []int
		var wg sync.WaitGroup
		for i := range 24 {
			store, tool := shared, ToolBash
			if i%2 == 0 { // another process's, with files of other names
				store, tool = NewStore(dir), ToolAsync
			}
			wg.Go(func() {
				f, err := store.Create(tool)
				if err != nil {
					t.Error(err)
					return
				}
				id, _ := strconv.Atoi(f.ID)
				mu.Lock()
				got = append(got, id)
				mu.Unlock()
			})
		}
		wg.Wait()
		slices.Sort(got)
		is(t, "ids given once", len(slices.Compact(got)), 24)
	})
}

func names(entries []os.DirEntry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestR086_AnArtifactThatCannotBeMadeIsNoFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	put(t, filepath.Dir(file), "file")
	writable := t.TempDir()
	if err := os.Chmod(writable, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"in a file": filepath.Join(file, "x"), "everybody's": writable, "a link": link} {
		s := NewStore(dir)
		w := NewTailBuffer(10, func() (*File, error) { return s.Create(ToolBash) })
		_, _ = w.Write([]byte("0123456789abcdef"))
		if got := w.Close(""); got.File != nil || got.Text != "6789abcdef" || !got.Truncated || got.TotalBytes != 16 {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for _, tool := range []string{"", "a/b", "..", "a.b"} {
		if _, err := NewStore(t.TempDir()).Create(tool); !errors.Is(err, ErrName) {
			t.Errorf("%q is taken for a tool: %v", tool, err)
		}
	}
	t.Run("a file that cannot be written", func(t *testing.T) {
		s := NewStore(t.TempDir())
		var made *File
		w := NewTailBuffer(10, func() (*File, error) {
			f, err := s.Create(ToolBash)
			made = f
			_ = f.out.Close() // as if the disk failed
			return f, err
		})
		_, _ = w.Write([]byte("0123456789abcdef"))
		if got := w.Close(""); got.File != nil || got.Text != "6789abcdef" {
			t.Fatalf("%+v", got)
		}
		gone(t, made.Path)
	})
}

func TestR045_AnArtifactIsFoundByItsId(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	put(t, one, "0.bash.log", "10.bash.log")
	put(t, two, "1.async.log", "2.bash.log")
	if err := os.Mkdir(filepath.Join(two, "3.bash.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := Find("1", one, filepath.Join(one, "none"), two)
	is(t, "found", must(t, got, err), filepath.Join(two, "1.async.log"))

	if _, err := Find("", one); !errors.Is(err, ErrNoID) {
		t.Error(err)
	}
	var bad *NotNumeric
	if _, err := Find("1x", one); !errors.As(err, &bad) || bad.ID != "1x" {
		t.Error(err)
	}
	if _, err := Find("1", filepath.Join(one, "none")); !errors.Is(err, ErrNoDirectory) {
		t.Error(err)
	}
	var missing *NotFound
	if _, err := Find("3", one, two); !errors.As(err, &missing) || strings.Join(missing.IDs, " ") != "0 1 2 10" {
		t.Error(err, missing)
	}
	if _, err := NewStore(t.TempDir()).Find("0"); !errors.As(err, &missing) || len(missing.IDs) != 0 || !strings.HasSuffix(err.Error(), "there are none") {
		t.Error(err)
	}
}
