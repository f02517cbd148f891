package artifact

import (
	"os"
	"testing"
)

// A file of the kernel says that it is empty, and is not.
func TestAFileThatSaysItIsEmpty(t *testing.T) {
	want, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	f, size, err := OpenFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, size)
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}

// Of what lets its readers wait, as the kernel's messages do, only what it holds now is
// taken: a pipe that somebody holds open is one.
func TestAFileOfNoSizeIsNotWaitedFor(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteString("held"); err != nil {
		t.Fatal(err)
	}
	f, size, err := ofNoSize(r)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, size)
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != "held" {
		t.Errorf("%q (%v)", got, err)
	}
}
