package spill

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A node's directory has one owner: a second store of that name is refused, and
// does the first no harm.
func TestFaultSecondOwner(t *testing.T) {
	first := newDisk(t)
	w, path := outgrown(t, first, "j1", 60_000)
	second := newDisk(t, func(o *Options) { o.Root = first.Root() })
	if _, err := second.Dir(); err == nil || !strings.Contains(err.Error(), testNode) {
		t.Errorf("a second owner: %v", err)
	}
	must(t, second.Close())
	push(t, w, newPipe(t), text(100_000)[60_000:])
	want(t, first, "j1", text(100_000), nil, 0)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

const ownerRoot = "TROUPE_TEST_OWNER_ROOT"

// M6, of the store: what a process that was killed has left is swept by the
// next, and not before it is dead.
func TestFaultOwnerIsKilled(t *testing.T) {
	if root := os.Getenv(ownerRoot); root != "" {
		own(t, root)
	}
	root := filepath.Join(t.TempDir(), "root")
	owner := exec.Command(os.Args[0], "-test.run=^TestFaultOwnerIsKilled$")
	owner.Env = append(os.Environ(), ownerRoot+"="+root)
	hold, err := owner.StdinPipe()
	must(t, err)
	defer hold.Close()
	says, err := owner.StdoutPipe()
	must(t, err)
	must(t, owner.Start())
	defer func() { _, _ = owner.Process.Kill(), owner.Wait() }()
	path, err := bufio.NewReader(says).ReadString('\n')
	must(t, err)
	path = strings.TrimSuffix(path, "\n")

	d := newDisk(t, func(o *Options) { o.Root = root })
	if swept, err := d.Sweep(); len(swept) != 0 || err != nil {
		t.Fatalf("the living owner is swept: %v, %v", swept, err)
	}
	if st, err := os.Stat(path); err != nil || st.Size() != 60_000 {
		t.Fatalf("its log %q: %v", path, err)
	}
	must(t, owner.Process.Kill())
	_ = owner.Wait() // it says that it was killed
	if swept, err := d.Sweep(); !slices.Equal(swept, []string{deadNode}) || err != nil {
		t.Fatalf("the dead owner: %v, %v", swept, err)
	}
	if left := files(t, root); !slices.Equal(left, []string{"./"}) {
		t.Errorf("what is left: %v", left)
	}
}

// own is the process that is killed: it has a log with a file, says where it is,
// and waits.
func own(t *testing.T, root string) {
	d, err := OpenStore(Options{Root: root, Node: deadNode})
	must(t, err)
	_, path := outgrown(t, d, "j1", 60_000)
	_, err = os.Stdout.WriteString(path + "\n")
	must(t, err)
	_, _ = os.Stdin.Read(make([]byte, 1)) // the end of the parent, at the latest
	os.Exit(0)
}
