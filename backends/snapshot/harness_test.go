package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/snapshot"
	"troupe/internal/test/enginetest"
	"troupe/messages"
	"troupe/spill"
)

// bench is a real engine, and a home whose files a test writes.
type bench struct {
	*testing.T
	store   *spill.Disk
	engine  *counting
	maker   *snapshot.Maker
	home    string
	ids     atomic.Int64
	forgets sync.Map
}

// counting counts what is started, and keeps what was asked for.
type counting struct {
	backends.Engine
	mu    sync.Mutex
	specs []backends.Spec
}

func (c *counting) Start(s backends.Spec, facts backends.FactHandler) backends.Process {
	c.mu.Lock()
	c.specs = append(c.specs, s)
	c.mu.Unlock()
	return c.Engine.Start(s, facts)
}

func (c *counting) started() []backends.Spec {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.specs
}

// plenty is a limit for files that come to their end, on a machine that is busy.
const plenty = time.Minute

func newBench(t *testing.T, limit time.Duration) *bench {
	t.Helper()
	e := enginetest.New(t, enginetest.Library)
	store := e.Store
	b := &bench{T: t, store: store, engine: &counting{Engine: e}, home: t.TempDir()}
	b.maker = snapshot.New(b.engine, snapshot.Options{
		Dir:    store.Dir,
		Limit:  limit,
		NewID:  func() messages.UID { return messages.UID(fmt.Sprintf("%026d", b.ids.Add(1))) },
		Forget: func(id messages.UID) { b.forgets.Store(id, store.Remove(string(id))) },
	})
	t.Cleanup(func() {
		if err := b.maker.Close(); err != nil {
			t.Error(err)
		}
		if held, err := e.Inventory(context.Background()); err != nil || len(held) > 0 {
			t.Errorf("the engine still has %+v, %v", held, err)
		}
		for _, s := range b.engine.started() {
			if forgotten, ok := b.forgets.Load(s.ID); !ok || forgotten != nil && !errors.Is(forgotten.(error), spill.ErrNotFound) {
				t.Errorf("the log of job %s is kept: %v", s.ID, forgotten)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(e.Root, e.Node, "snapshots*")); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
	return b
}

func (b *bench) env() []string {
	return []string{"HOME=" + b.home, "PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin", "LC_ALL=C.UTF-8", "BASH_ENV=/nowhere", "ENV=/nowhere"}
}

// start writes a start file of the user.
func (b *bench) start(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.home, name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) of(shell string) (string, *messages.Error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*plenty)
	defer cancel()
	return b.maker.Of(ctx, shell, b.env())
}

// made is a snapshot that must be there, and its text.
func (b *bench) made(shell string) (file, text string) {
	b.Helper()
	file, why := b.of(shell)
	if why != nil {
		b.Fatal(why)
	}
	read, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	return file, string(read)
}

// refused is why there is none.
func (b *bench) refused(shell string) string {
	b.Helper()
	file, why := b.of(shell)
	if why == nil {
		read, _ := os.ReadFile(file)
		b.Fatalf("there is one:\n%.2000s", read)
	}
	if why.Code != messages.Unsupported || why.Reason != "snapshot" || file != "" {
		b.Errorf("%+v with %q", why, file)
	}
	return why.Error()
}

// under is what a command writes that a shell runs behind the snapshot.
func (b *bench) under(argv []string, file, command string) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), argv[0], append(argv[1:], "-c", ". "+file+"\neval \"$1\"", "sh", command)...)
	cmd.Env, cmd.Dir = []string{"HOME=" + b.home, "PATH=/usr/bin:/bin"}, "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Errorf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%.3000s", want, text)
		}
	}
}

func lacks(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if strings.Contains(text, want) {
			t.Errorf("%q is in\n%.3000s", want, text)
		}
	}
}
