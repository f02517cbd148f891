package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/internal/journal"
	"troupe/messages"
)

// reopen ends a journal and begins again with its file.
func reopen(t testing.TB, b *journal.Bolt, path string, o journal.BoltOptions) *journal.Bolt {
	t.Helper()
	must(t, b.Close())
	return bolt(t, path, o)
}

// Numbers go on where they ended, and all that was recorded is there.
func TestBoltGoesOn(t *testing.T) {
	path := place(t)
	b := bolt(t, path, journal.BoltOptions{})
	for n := messages.Seq(1); n <= 9; n += 3 {
		must(t, b.Append(facts(n, n+2)))
		b = reopen(t, b, path, journal.BoltOptions{})
		if last, err := b.Last(); last != n+2 || err != nil {
			t.Fatalf("the last is %d (%v), want %d", last, err, n+2)
		}
		if err := b.Append(facts(n+4, n+4)); !errors.Is(err, journal.ErrHole) {
			t.Fatalf("a hole across the end: got %v", err)
		}
	}
	if got := numbers(t, b, 0, 99); got != "[1 2 3 4 5 6 7 8 9]" {
		t.Errorf("got %s", got)
	}
}

// Who waits for a commit shares the next one; who is refused is refused alone.
func TestBoltCommitsTogether(t *testing.T) {
	path := place(t)
	b := bolt(t, path, journal.BoltOptions{})
	before := b.Stats()
	errs := b.WriteTogether(
		journal.Batch{Acks: []messages.Acknowledge{{Channel: "c", Seq: 4}}},
		journal.Batch{Facts: facts(3, 4), Channels: []journal.Channel{{ID: "c"}}}, // came first
		journal.Batch{Facts: facts(9, 9), Channels: []journal.Channel{{ID: "bad"}}},
		journal.Batch{Facts: facts(1, 2)},
	)
	for i, err := range errs {
		if bad := i == 2; bad != errors.Is(err, journal.ErrHole) || !bad && err != nil {
			t.Errorf("batch %d: got %v", i, err)
		}
	}
	b = reopen(t, b, path, journal.BoltOptions{})
	if got := numbers(t, b, 0, 99); got != "[1 2 3 4]" {
		t.Errorf("recorded are %s", got)
	}
	if all, _ := b.Channels(); len(all) != 1 || all[0].ID != "c" || all[0].Acked != 4 {
		t.Errorf("the channels are %+v", all)
	}
	if s := b.Stats(); before.Commits != 1 || s.Commits != 1 {
		t.Errorf("opening alone made %d commits", s.Commits)
	}
}

// What has been recorded costs no commit when it is given again.
func TestBoltRetriesAreFree(t *testing.T) {
	b := bolt(t, place(t), journal.BoltOptions{})
	must(t, b.Append(facts(1, 3)))
	for range 3 {
		must(t, b.Append(facts(1, 3)))
	}
	if s := b.Stats(); s.Commits != 2 || s.Facts != 3 { // one is that of the opening
		t.Errorf("got %+v, want one commit", s)
	}
}

func TestSecurityJournalIsPrivate(t *testing.T) {
	path := place(t)
	bolt(t, path, journal.BoltOptions{})
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Lstat(name)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has the mode %s, want %s", name, info.Mode().Perm(), want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("beside the journal lie %v", entries)
	}
}

// What is left of a journal that was never whole is taken away.
func TestBoltWasNeverWhole(t *testing.T) {
	path := place(t)
	must(t, os.Mkdir(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path+".new", make([]byte, 5000), 0o600))
	b := bolt(t, path, journal.BoltOptions{})
	must(t, b.Append(facts(1, 1)))
	must(t, b.Close())
	must(t, os.Link(path, path+".new")) // it was killed between its two names
	b = bolt(t, path, journal.BoltOptions{})
	if last, _ := b.Last(); last != 1 {
		t.Errorf("the last is %d, want 1", last)
	}
}

// A file that is not to be trusted is refused and left as it is, and the error
// says what to do.
func TestSecurityJournalFiles(t *testing.T) {
	whole := func(t *testing.T, path string, change func(b *journal.Bolt) error) {
		b := bolt(t, path, journal.BoltOptions{})
		must(t, b.Append(facts(1, 3)))
		if change != nil {
			must(t, change(b))
		}
		must(t, b.Close())
	}
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want error
	}{
		"empty": {func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o600)) }, journal.ErrForeign},
		"text":  {func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("hello\n"), 0o600)) }, journal.ErrForeign},
		"zeros": {func(t *testing.T, path string) { must(t, os.WriteFile(path, make([]byte, 1<<16), 0o600)) }, journal.ErrForeign},
		"newer": {func(t *testing.T, path string) {
			whole(t, path, func(b *journal.Bolt) error { return b.SetFormat(journal.Format + 1) })
		}, journal.ErrNewer},
		"other":   {func(t *testing.T, path string) { whole(t, path, (*journal.Bolt).Unlay) }, journal.ErrForeign},
		"no mark": {func(t *testing.T, path string) { whole(t, path, func(b *journal.Bolt) error { return b.SetFormat(0) }) }, journal.ErrDamaged},
		"link": {func(t *testing.T, path string) {
			whole(t, path+".real", nil)
			must(t, os.Symlink(path+".real", path))
		}, journal.ErrUnsafe},
		"second name": {func(t *testing.T, path string) {
			whole(t, path, nil)
			must(t, os.Link(path, path+".too"))
		}, journal.ErrUnsafe},
		"open to others": {func(t *testing.T, path string) {
			whole(t, path, nil)
			must(t, os.Chmod(path, 0o644))
		}, journal.ErrUnsafe},
		"directory": {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, journal.ErrUnsafe},
		"directory open to others": {func(t *testing.T, path string) {
			whole(t, path, nil)
			must(t, os.Chmod(filepath.Dir(path), 0o755))
		}, journal.ErrUnsafe},
		"linked directory": {func(t *testing.T, path string) {
			must(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".real"))
			must(t, os.Symlink(filepath.Dir(path)+".real", filepath.Dir(path)))
		}, journal.ErrUnsafe},
	} {
		t.Run(name, func(t *testing.T) {
			path := place(t)
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			c.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := journal.OpenBolt(path, journal.BoltOptions{Timeout: time.Second})
			var said *messages.Error
			if !errors.Is(err, c.want) || !errors.As(err, &said) || said.Hint == "" {
				t.Fatalf("got %v, want %v with a hint", err, c.want)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestBoltIsOpenOnce(t *testing.T) {
	path := place(t)
	b := bolt(t, path, journal.BoltOptions{})
	if _, err := journal.OpenBolt(path, journal.BoltOptions{Timeout: time.Millisecond}); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	reopen(t, b, path, journal.BoltOptions{})
}

// A read that finds the file cut off holds up no other, which had begun before.
func TestAReadOfACutOffJournalHoldsUpNoOther(t *testing.T) {
	path := place(t)
	b, err := journal.OpenBolt(path, journal.BoltOptions{})
	must(t, err)
	must(t, b.Append(facts(1, 200)))
	begun, goes, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { over <- b.Look(func() { close(begun); <-goes }) }()
	<-begun
	must(t, os.Truncate(path, 4096))
	if _, err := b.Read(0, 1); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
	close(goes)
	must(t, <-over)
}

// A file that is cut off while it is in use is a fault of memory: it becomes an
// error, and nothing is done with the file any more. It can be closed all the same.
func TestFaultJournalIsCutOff(t *testing.T) {
	for _, pages := range []int64{0, 1, 2, 3, 5} {
		for _, writes := range []bool{false, true} {
			path := place(t)
			b, err := journal.OpenBolt(path, journal.BoltOptions{})
			must(t, err)
			must(t, b.Append(facts(1, 200)))
			must(t, b.Health())
			must(t, os.Truncate(path, pages*4096))
			read := func() error {
				_, err := b.Read(0, 200)
				return err
			}
			write := func() error { return b.Append(facts(201, 201)) }
			uses := []func() error{read, write, b.Health, read, write, b.Close}
			if writes {
				uses = []func() error{write, b.Health, write, read, b.Close}
			}
			for i, use := range uses {
				if err := use(); !errors.Is(err, journal.ErrDamaged) {
					t.Errorf("cut to %d, writes first %t, use %d: got %v, want ErrDamaged", pages, writes, i, err)
				}
			}
		}
	}
}
