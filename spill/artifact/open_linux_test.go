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
