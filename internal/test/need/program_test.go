package need

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// recorder is a test that only writes down how it was ended.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// record runs f as a test of its own.
func record(f func(testing.TB)) *recorder {
	r, done := &recorder{}, make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

func TestAMissingProgramIsASkipOrUnderStrictAFailure(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	ask := func(tb testing.TB) { Program(tb, "zsh") }

	t.Setenv("TROUPE_TEST_STRICT", "")
	if r := record(ask); r.skipped != "needs zsh: install it with make deps" || r.failed != "" {
		t.Errorf("skipped %q, failed %q", r.skipped, r.failed)
	}
	t.Setenv("TROUPE_TEST_STRICT", "1")
	if r := record(ask); r.failed == "" || r.skipped != "" {
		t.Errorf("strict: skipped %q, failed %q", r.skipped, r.failed)
	}
}

func TestWhatRunsOnNodeIsInstalledOrASkip(t *testing.T) {
	tree := t.TempDir()
	at := filepath.Join(tree, "tools", "node")
	program := filepath.Join(at, "node_modules", "node-"+runtime.GOOS+"-"+nodeCPU(runtime.GOARCH), "bin", "node")
	write := func(name, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(at, "package.json"), "{}")
	write(filepath.Join(at, "package-lock.json"), "as it should be")
	write(filepath.Join(tree, "deep", "down", "file"), "")
	t.Chdir(filepath.Join(tree, "deep", "down"))
	t.Setenv("TROUPE_TEST_STRICT", "")
	var got string
	ask := func(tb testing.TB) { got, _ = Node(tb) }

	const want = "needs the packages of tools/node: install it with make deps"
	if r := record(ask); r.skipped != want {
		t.Errorf("nothing installed: skipped %q, failed %q", r.skipped, r.failed)
	}
	write(program, "")
	write(filepath.Join(at, "node_modules", ".installed"), "as it was")
	if r := record(ask); r.skipped != want {
		t.Errorf("another version installed: skipped %q, failed %q", r.skipped, r.failed)
	}
	t.Setenv("TROUPE_TEST_STRICT", "1")
	if r := record(ask); r.failed == "" || r.skipped != "" {
		t.Errorf("strict: skipped %q, failed %q", r.skipped, r.failed)
	}
	write(filepath.Join(at, "node_modules", ".installed"), "as it should be")
	if r := record(ask); r.failed != "" || got != program {
		t.Errorf("installed: got %q, failed %q, want %q", got, r.failed, program)
	}
}

func TestAnUnlistedProgramIsAFailure(t *testing.T) {
	t.Setenv("TROUPE_TEST_STRICT", "")
	if r := record(func(tb testing.TB) { Program(tb, "go") }); r.failed == "" {
		t.Error("go is not in the list, and was accepted")
	}
}

func TestAMissingFeatureIsNeverAFailure(t *testing.T) {
	t.Setenv("TROUPE_TEST_STRICT", "1")
	r := record(func(tb testing.TB) { Feature(tb, false, "a moon base") })
	if r.failed != "" || r.skipped != "needs a moon base: this machine or user has none" {
		t.Errorf("skipped %q, failed %q", r.skipped, r.failed)
	}
	if r := record(func(tb testing.TB) { Feature(tb, true, "air") }); r.failed != "" || r.skipped != "" {
		t.Errorf("has it: skipped %q, failed %q", r.skipped, r.failed)
	}
}

func TestCgroupDir(t *testing.T) {
	const plain = "22 1 0:20 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n"
	const inside = "30 23 0:26 /box/a /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
	for _, c := range []struct{ mounts, member, want string }{
		{plain, "0::/user.slice/me\n", "/sys/fs/cgroup/user.slice/me"},
		{plain, "4:memory:/m\n0::/\n", "/sys/fs/cgroup"},
		{inside, "0::/box/a/b\n", "/sys/fs/cgroup/b"},
		{plain, "4:memory:/m\n", ""},
		{"22 1 0:20 / /proc rw - proc proc rw\n", "0::/\n", ""},
	} {
		if got := cgroupDir(c.mounts, c.member); got != c.want {
			t.Errorf("cgroupDir(%q): got %q, want %q", c.member, got, c.want)
		}
	}
}

// Tests run under the race detector wherever make test finds it.
func TestTheRaceDetectorIsHere(t *testing.T) {
	out, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(out)) != "1" { // go finds no C compiler
		lacks(t, "gcc")
	}
}
