package spill_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"troupe/spill"
)

func openOutside(t *testing.T) *spill.Disk {
	t.Helper()
	d, err := spill.OpenStore(spill.Options{Root: filepath.Join(t.TempDir(), "root"), Node: "node"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// A log whose file was named is there from the first moment, private, and stays
// when the log is removed.
func TestNamedFileIsTheLog(t *testing.T) {
	d, path := openOutside(t), filepath.Join(t.TempDir(), "out.log")
	w, err := d.Create("01A", spill.Merged, spill.Plan{File: path})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 || info.Size() != 0 {
		t.Fatalf("the file is %v, %v", info, err)
	}
	if _, err := w.Append([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if got := w.State().File; got != path {
		t.Errorf("the log is in %q", got)
	}
	if err := errors.Join(w.Seal(), d.Remove("01A")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); string(text) != "hello\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if err := d.Reclaim("01A", spill.Merged, path, ""); err != nil {
		t.Fatal(err)
	}
	log, err := d.Open("01A", spill.Merged)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := make([]byte, 6)
	if _, err := log.ReadAt(p, 0); err != nil || string(p) != "hello\n" || !log.State().Closed {
		t.Errorf("read %q, %v", p, err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove("01A"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("it was there before it was read: %v", err)
	}
}

// What is there already, a symbolic link above all, is not written to.
func TestNamedFileIsNotOverwritten(t *testing.T) {
	d, dir := openOutside(t), t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(string) error{
		"a file":          func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"a symbolic link": func(p string) error { return os.Symlink(precious, p) },
		"one to nothing":  func(p string) error { return os.Symlink(filepath.Join(dir, "nothing"), p) },
		"a hard link":     func(p string) error { return os.Link(precious, p) },
		"a directory":     func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		path := filepath.Join(dir, "out.log")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Create("01B", spill.Merged, spill.Plan{File: path}); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(precious); string(text) != "precious" {
		t.Errorf("it has %q", text)
	}
	if _, err := os.Lstat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("something was made where the link leads")
	}
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(open, "out.log"), "relative.log", dir + "/../x/y.log", "/"} {
		if _, err := d.Create("01C", spill.Merged, spill.Plan{File: path}); err == nil {
			t.Errorf("%s was taken", path)
		}
	}
}

// A log that is refused leaves no file.
func TestNamedFileOfALogThatIsThere(t *testing.T) {
	d, dir := openOutside(t), t.TempDir()
	if _, err := d.Create("01E", spill.Merged, spill.Plan{}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create("01E", spill.Merged, spill.Plan{File: filepath.Join(dir, "out.log")}); !errors.Is(err, spill.ErrExists) {
		t.Errorf("a second log of a job: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// A log whose file is deleted goes on in it, and nothing is made in its place.
func TestNamedFileIsNotMadeAnew(t *testing.T) {
	d, path := openOutside(t), filepath.Join(t.TempDir(), "out.log")
	w, err := d.Create("01D", spill.Merged, spill.Plan{File: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := w.Append([]byte("more\n")); err != nil {
			t.Fatal(i, err)
		}
		_ = os.Remove(path)
	}
	if s := w.State(); s.Size != 15 || !s.Flags.Has(spill.Unlinked) {
		t.Errorf("the log is %+v", s)
	}
	if err := w.Seal(); err != nil {
		t.Error(err)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}
