package spill

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

const deadNode = "01JD0000000000000000000001"

// A node whose outputs stay small leaves no trace on the disk.
func TestASmallNodeMakesNoFile(t *testing.T) {
	d := newDisk(t)
	_, err := d.Sweep()
	must(t, err)
	w := create(t, d, "j1", Plan{})
	_, err = w.Append([]byte("hi\n"))
	must(t, err)
	must(t, w.Seal())
	if got := string(content(t, d, "j1")); got != "hi\n" {
		t.Errorf("got %q", got)
	}
	if f := files(t, filepath.Dir(d.tree.given)); !slices.Equal(f, []string{"./"}) {
		t.Errorf("there are files: %v", f)
	}
}

func TestSecurityFilesAreOursAlone(t *testing.T) {
	d := newDisk(t)
	w := create(t, d, "j1", Plan{Group: "../../etc"})
	_, err := w.Append(text(InlineLimit + 1))
	must(t, err)
	for path := w.State().File; path != filepath.Dir(d.tree.given); path = filepath.Dir(path) {
		st, err := os.Lstat(path)
		must(t, err)
		want := os.ModeDir | 0o700
		if path == w.State().File {
			want = 0o600
		}
		if st.Mode() != want {
			t.Errorf("%s has the mode %v, want %v", path, st.Mode(), want)
		}
	}
	if w.State().File != d.Path("j1", Merged) || d.Path("j2", Merged) != "" {
		t.Error("Path does not say where the file is")
	}
	must(t, d.Close())
	if f := files(t, d.tree.given); !slices.Equal(f, []string{"./"}) {
		t.Errorf("a store that is closed leaves %v", f)
	}
}

func TestSecuritySessionNamesStayInTheirDirectory(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{
		"", "build", "a.b-c_d", "..", ".", ".hidden", "../x", "a/b", "a_b", "/etc", "a\x00b", "ä", strings.Repeat("x", 64), strings.Repeat("x", 65),
		strings.Repeat("ü", 500),
	} {
		dir := dirName(name)
		if dir == "" || dir[0] == '.' || len(dir) > maxID || strings.ContainsAny(dir, "/\x00") {
			t.Errorf("the session %q gets the directory %q", name, dir)
		}
		if other, ok := seen[dir]; ok {
			t.Errorf("the sessions %q and %q share the directory %q", name, other, dir)
		}
		seen[dir] = name
	}
	if dirName("build") != "build" {
		t.Error("a plain name is changed")
	}
}

func TestBadInputIdsAreNoPaths(t *testing.T) {
	d := newDisk(t)
	for _, id := range []string{"", ".", "..", "../x", "a/b", "a.b", "a\x00", strings.Repeat("x", 65)} {
		if _, err := d.Create(id, Merged, Plan{}); err == nil {
			t.Errorf("%q is taken for an id", id)
		}
		if _, err := OpenStore(Options{Node: id}); err == nil {
			t.Errorf("%q is taken for a node", id)
		}
	}
}

// A name in the temporary directory that somebody else has taken is left alone.
func TestSecurityRootIsOursOrAnother(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, path string){
		"free":    func(*testing.T, string) {},
		"ours":    func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) },
		"open":    func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)); must(t, os.Chmod(path, 0o777)) },
		"a file":  func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o600)) },
		"a link":  func(t *testing.T, path string) { must(t, os.Symlink(t.TempDir(), path)) },
		"a queue": func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o600)) },
		"another's": func(t *testing.T, path string) {
			must(t, os.Mkdir(path, 0o700))
			need.Feature(t, os.Chown(path, 12345, 12345) == nil, "the right to give files away")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			path := filepath.Join(os.TempDir(), "troupe-"+strconv.Itoa(os.Geteuid()))
			take(t, path)
			var roots []string
			for range 2 {
				d := newDisk(t, func(o *Options) { o.Root = "" })
				_, err := d.Sweep()
				must(t, err)
				dir, err := d.Dir()
				must(t, err)
				if filepath.Dir(dir) != d.Root() {
					t.Errorf("%s is not in %s", dir, d.Root())
				}
				roots = append(roots, d.Root())
				must(t, d.Close())
			}
			if own := name == "free" || name == "ours"; (roots[0] == path) != own {
				t.Errorf("the root is %s", roots[0])
			}
			if roots[0] != roots[1] {
				t.Errorf("the next node does not find the root %s: %s", roots[0], roots[1])
			}
			must(t, os.RemoveAll(path))
		})
	}
}

func TestSecurityGivenRootIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	d := newDisk(t, func(o *Options) { o.Root = dir })
	if _, err := d.Dir(); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "0700") {
		t.Errorf("got %v", err)
	}
	if _, err := OpenStore(Options{Root: "relative", Node: testNode}); err == nil {
		t.Error("a relative root is accepted")
	}
}

func TestFaultSweepRemovesWhatDeadNodesLeft(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	alive := newDisk(t, func(o *Options) { o.Root = root })
	path := make(map[string]string)
	w := create(t, alive, "j1", Plan{})
	_, err := w.Append(text(60_000))
	must(t, err)
	path["alive"] = w.State().File
	for _, dir := range []string{
		deadNode + "/sessions/build", "01JD0000000000000000000002" + newSuffix, "01JD0000000000000000000006" + newSuffix,
		"01JD0000000000000000000003" + deadSuffix + "/sessions", "sockets", "01JD0000000000000000000004",
	} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	must(t, os.WriteFile(filepath.Join(root, deadNode, lockName), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(root, deadNode, "sessions", "build", "j1.merged.log.new"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(root, "01JD0000000000000000000004", "mine"), nil, 0o600)) // no lock: no node's
	must(t, os.WriteFile(filepath.Join(root, "sockets", "s"), nil, 0o600))
	old := time.Now().Add(-2 * leftover)
	must(t, os.Chtimes(filepath.Join(root, "01JD0000000000000000000002"+newSuffix), old, old))

	d := newDisk(t, func(o *Options) { o.Root, o.Node = root, "01JD0000000000000000000005" })
	swept, err := d.Sweep()
	must(t, err)
	if !slices.Equal(swept, []string{deadNode}) {
		t.Errorf("swept %v", swept)
	}
	entries, err := os.ReadDir(root)
	must(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, []string{testNode, "01JD0000000000000000000004", "01JD0000000000000000000006" + newSuffix, "sockets"}) {
		t.Errorf("what is left: %v", left)
	}
	if got, err := os.ReadFile(path["alive"]); err != nil || !bytes.Equal(got, text(60_000)) {
		t.Errorf("the living node has lost its log: %v", err)
	}
}

// As long as something else of a dead node is left its directory stays, by which the
// next sweep knows of it.
func TestFaultSweepKeepsWhatHasRemains(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.MkdirAll(filepath.Join(root, deadNode), 0o700))
	must(t, os.Chmod(root, 0o700))
	must(t, os.WriteFile(filepath.Join(root, deadNode, lockName), nil, 0o600))
	gone := false
	var asked []string
	d := newDisk(t, func(o *Options) {
		o.Root, o.Dead = root, func(node string) bool {
			asked = append(asked, node)
			return gone
		}
	})
	swept, err := d.Sweep()
	must(t, err)
	if _, err := os.Stat(filepath.Join(root, deadNode, lockName)); err != nil || len(swept) > 0 {
		t.Errorf("swept %v: %v", swept, err)
	}
	gone = true
	swept, err = d.Sweep()
	must(t, err)
	if !slices.Equal(swept, []string{deadNode}) || !slices.Equal(asked, []string{deadNode, deadNode}) {
		t.Errorf("swept %v, asked for %v", swept, asked)
	}
}

// Nodes that begin and end while others sweep keep their directories, and none
// hears of it. They have one name, so that each can be mistaken for the last.
func TestFaultSweepSparesANodeThatBegins(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o700))
	stop := make(chan struct{})
	var sweepers sync.WaitGroup
	for _, node := range []string{deadNode, "01JD0000000000000000000002"} {
		sweeper := newDisk(t, func(o *Options) { o.Root, o.Node = root, node })
		sweepers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := sweeper.Sweep(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer func() {
		close(stop)
		sweepers.Wait()
	}()
	for range 200 {
		d, err := OpenStore(Options{Root: root, Node: testNode})
		must(t, err)
		dir, err := d.Dir()
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "script"), nil, 0o600))
		must(t, d.Close())
	}
}

// A lock that was taken after its directory went says nothing of the directory
// that has the name now.
func TestFaultSweepLooksAtTheLockThatIsThere(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer root.Close()
	begin := func() *os.File {
		must(t, root.Mkdir(deadNode, 0o700))
		lock, err := root.Create(deadNode + "/" + lockName)
		must(t, err)
		t.Cleanup(func() { lock.Close() })
		return lock
	}
	first := begin()
	if !owns(root, first, deadNode) {
		t.Error("the lock of the directory is not known")
	}
	must(t, root.RemoveAll(deadNode))
	if owns(root, first, deadNode) {
		t.Error("the lock of a directory that is gone is good for its name")
	}
	begin()
	if owns(root, first, deadNode) {
		t.Error("the lock of a directory that is gone is good for the next")
	}
}

func TestKeep(t *testing.T) {
	for name, n := range map[string]int{"in memory": 1000, "a file": 100_000, "empty": 0} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			w := create(t, d, "j1", Plan{})
			_, err := w.Append(text(n))
			must(t, err)
			path, err := d.Keep("j1", Merged)
			must(t, err)
			if again, err := d.Keep("j1", Merged); again != path || err != nil {
				t.Errorf("kept again at %q: %v", again, err)
			}
			_, err = w.Append(text(n + 5000)[n:]) // it goes on
			must(t, err)
			must(t, w.Seal())
			if !bytes.Equal(content(t, d, "j1"), text(n+5000)) {
				t.Error("the log does not go on")
			}
			must(t, d.Remove("j1"))
			must(t, d.Close())
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text(n+5000)) {
				t.Errorf("what was kept is gone with its node: %v", err)
			}
		})
	}
}

// What is kept of finished outputs is bounded, and the oldest go first.
func TestFaultKeptFilesAreBounded(t *testing.T) {
	d := newDisk(t)
	w := create(t, d, "j1", Plan{})
	_, err := w.Append(text(1000))
	must(t, err)
	path, err := d.Keep("j1", Merged)
	must(t, err)
	dir := filepath.Dir(path)
	now := time.Now()
	old := func(name string, age time.Duration, size int64) {
		p := filepath.Join(dir, name)
		must(t, os.WriteFile(p, nil, 0o600))
		must(t, os.Truncate(p, size))
		must(t, os.Chtimes(p, now.Add(-age), now.Add(-age)))
	}
	old("old.merged.log", KeptFor+time.Minute, 10)
	old("leftover.merged.log.new", 2*leftover, 10)
	old("fresh.merged.log.new", 0, 10)
	old("used.merged.log", time.Hour, 10)
	list, err := listKeptAs(d, func(f *keptFile) { // the change of the times is a use: make it as old as they say
		fi, err := os.Stat(filepath.Join(dir, f.name))
		must(t, err)
		f.used = fi.ModTime()
	})
	must(t, err)
	if got := names(excessKept(list, now)); !slices.Equal(got, []string{"leftover.merged.log.new", "old.merged.log"}) {
		t.Errorf("what goes: %v", got)
	}
	must(t, d.trimKept())
	var many []keptFile
	for i := range KeptCount + 3 {
		many = append(many, keptFile{name: strconv.Itoa(i), used: now.Add(-time.Duration(i) * time.Second), bytes: 10})
	}
	if got := len(excessKept(many, now)); got != 3 {
		t.Errorf("of too many %d go", got)
	}
	large := []keptFile{{"a", now, 2 * KeptBytes}, {"b", now.Add(-time.Second), 1}, {"c", now.Add(-time.Minute), 1}}
	if got := names(excessKept(large, now)); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("of too large ones %v go", got)
	}
}

func names(files []keptFile) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.name)
	}
	slices.Sort(out)
	return out
}

func listKeptAs(d *Disk, change func(*keptFile)) ([]keptFile, error) {
	dir, err := d.tree.open(dirRef{kept: true}, false)
	if err != nil {
		return nil, err
	}
	defer dir.free()
	files, err := listKept(dir, d.tree.filePath(dirRef{kept: true}, ""))
	for i := range files {
		change(&files[i])
	}
	return files, err
}
