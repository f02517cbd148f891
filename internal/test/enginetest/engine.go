package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/backends/engine"
	"troupe/messages"
	"troupe/spill"
)

// Words in the name of a mode: an engine in a host process, one with a process of its
// own, and one that uses process groups only.
const (
	Library   = "library"
	Own       = "own"
	NoCgroups = "without cgroups"
)

// Engine is a real engine with the place of its outputs.
type Engine struct {
	*engine.Local
	Store *spill.Disk
	Root  string // directory of the store
	Node  string
}

// New returns an engine in a mode, a combination of the words above. Its end must leave
// no process, no script and no file.
func New(t testing.TB, mode string) *Engine {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	e := &Engine{Root: root, Node: fmt.Sprintf("TEST%d", time.Now().UnixNano())}
	var err error
	if e.Store, err = spill.OpenStore(spill.Options{Root: root, Node: e.Node}); err != nil {
		t.Fatal(err)
	}
	e.Local, err = engine.New(engine.Options{
		Node: e.Node, Store: e.Store, Own: strings.Contains(mode, Own), NoCgroup: strings.Contains(mode, NoCgroups), ScriptDir: e.Store.Dir,
		Fault: func(job messages.UID, fault error) { t.Errorf("a fault of job %s: %v", job, fault) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.end(t) })
	return e
}

func (e *Engine) end(t testing.TB) {
	if left := e.Close(false); len(left) > 0 {
		t.Errorf("survivors: %+v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(e.Root, e.Node, "troupe-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := e.Store.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(e.Root); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// Reach returns what a kill must reach in a mode, and checks that the engine agrees.
func (e *Engine) Reach(t testing.TB, mode string) messages.Isolation {
	t.Helper()
	want := messages.InCgroup
	switch mode {
	case Library + " " + NoCgroups:
		want = messages.Group
	case Own + " " + NoCgroups:
		want = messages.Subreaper
	}
	if got := e.Features().Isolation; got != want {
		t.Errorf("the engine holds its jobs by %s, want %s", got, want)
	}
	return want
}
