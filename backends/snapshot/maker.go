// Package snapshot keeps files of what users have set up for their shells: functions,
// options, aliases and PATH. A live shell sources one instead of the user's
// own file, which may hang, ask, print or become another program.
//
// The user's file runs once, as a job of the engine: its whole tree is killed when two
// seconds are over, and ended with it in any case. What it tells, and how the snapshot is
// written and tried, is package shell's.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"troupe/backends"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Limit is how long the user's file may take, in all tries, and each check after it.
const Limit = 2 * time.Second

// Options are what snapshots stand on; Dir and NewID are required.
type Options struct {
	// Dir says where the directory of snapshots is: one that only this user can enter, and
	// that is cleared up when this process is killed. It is asked for each, and may make it.
	Dir func() (string, error)
	// NewID makes the ids of jobs and files.
	NewID func() messages.UID
	Limit time.Duration // 0: Limit
	// Forget drops the logs of a job, which nobody will read again. nil: nothing.
	Forget func(job messages.UID)
}

// Maker makes snapshots and has those that were made, one for each shell. It is safe for
// concurrent use.
type Maker struct {
	engine  backends.Engine
	options Options
	over    chan struct{} // closed by Close
	working sync.WaitGroup

	mu     sync.Mutex
	made   map[subject]*result
	dir    string // of the files; "": there were none
	closed bool
}

// subject is what a snapshot is made of: a shell, and the file of its user.
type subject struct{ shell, start string }

// result is a snapshot that is made or was made, or why there is none.
type result struct {
	done  chan struct{} // closed when the rest is known
	file  string
	why   *messages.Error
	stamp stamp // of the user's file before it ran
}

// stamp tells versions of a file apart; the zero value is a file that is not there.
type stamp struct {
	size int64
	at   time.Time
}

// New makes snapshots by jobs of an engine.
func New(engine backends.Engine, o Options) *Maker {
	o.Limit = cmp.Or(o.Limit, Limit)
	return &Maker{engine: engine, options: o, over: make(chan struct{}), made: map[subject]*result{}}
}

// Of is the file of a snapshot for the shell at a path, whose user is that of env. It is
// made when it is asked for first, or was deleted; those who ask meanwhile wait for the
// same. It waits for some seconds at most, or until ctx ends.
//
// Without one the error says why, with the code unsupported and the reason snapshot; the
// shell then starts without. Why there is none is remembered until the user's file changes.
func (m *Maker) Of(ctx context.Context, path string, env []string) (file string, why *messages.Error) {
	of := subject{path, shelltext.StartFile(shelltext.Kind(path), env)}
	switch {
	case runtime.GOOS == "windows" || len(shelltext.SnapshotRuns(path)) == 0:
		return "", shelltext.NoSnapshot(fmt.Sprintf("the shell %s is none that can tell what is set up in it", path), "bash, zsh and sh can")
	case !filepath.IsAbs(path) || !filepath.IsAbs(of.start):
		return "", shelltext.NoSnapshot("the shell has no absolute path, or the environment has no HOME", "set them")
	}
	r := m.result(of, env)
	if r == nil {
		return "", shelltext.NoSnapshot("this node is ending", "")
	}
	select {
	case <-r.done:
		return r.file, r.why
	case <-ctx.Done():
		return "", shelltext.NoSnapshot("it was not waited for", "")
	}
}

// result is the one that holds now, or one that is being made; nil: none is made any more.
func (m *Maker) result(of subject, env []string) *result {
	now := stampOf(of.start)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	if r := m.made[of]; r != nil && r.holds(now) {
		return r
	}
	r := &result{done: make(chan struct{}), stamp: now}
	m.made[of] = r
	m.working.Go(func() {
		defer close(r.done)
		r.file, r.why = m.build(of, env)
	})
	return r
}

// holds reports whether a result need not be made anew.
func (r *result) holds(now stamp) bool {
	select {
	case <-r.done:
	default:
		return true
	}
	if r.why != nil {
		return r.stamp == now
	}
	_, err := os.Lstat(r.file)
	return err == nil
}

func stampOf(file string) stamp {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

// Close removes the files, behind what is being made. Nothing is made after it.
func (m *Maker) Close() error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	m.mu.Unlock()
	if !first {
		return nil
	}
	close(m.over)
	m.working.Wait()
	var errs []error
	for _, r := range m.made {
		if r.file != "" {
			errs = append(errs, remove(r.file))
		}
	}
	if m.dir != "" {
		errs = append(errs, remove(m.dir))
	}
	return errors.Join(errs...)
}

// remove removes what may be gone already.
func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// build makes one: tell, write, try.
func (m *Maker) build(of subject, env []string) (string, *messages.Error) {
	text, why := m.tell(of, shelltext.SnapshotEnv(env))
	if why != nil {
		return "", why
	}
	file, err := m.write(of, text)
	if err != nil {
		return "", shelltext.NoSnapshot("it cannot be written: "+err.Error(), "see to it that the directory of this node has room")
	}
	if why := m.check(of, file, shelltext.SnapshotEnv(env)); why != nil {
		_ = os.Remove(file)
		return "", why
	}
	return file, nil
}

// tell runs the user's file, and what a shell has then is the text of the snapshot. If a
// shell of one way ends without telling, the next way has what is left of the time.
func (m *Maker) tell(of subject, env []string) (text string, why *messages.Error) {
	until := time.Now().Add(m.options.Limit)
	for _, argv := range shelltext.SnapshotRuns(of.shell) {
		left := time.Until(until)
		if left <= 0 {
			break
		}
		ran := m.run(argv, env, left, messages.SeparateStreams, shelltext.MaxSnapshot+1) // an interactive shell complains about the terminal
		if ran.failed != nil {
			return "", shelltext.NoSnapshot("the shell cannot be run: "+ran.failed.Message, ran.failed.Hint)
		}
		var unread *messages.Error
		if text, unread = shelltext.Snapshot(shelltext.Kind(of.shell), ran.output); unread == nil {
			return text, nil
		}
		switch {
		case ran.late():
			return "", shelltext.NoSnapshot(fmt.Sprintf("%s did not come to its end within %s, and was killed", of.start, m.options.Limit), "see what it waits for when nobody answers")
		case why != nil: // what the first says is what a user sees of their own shell
		case len(ran.output) == 0:
			why = shelltext.NoSnapshot(fmt.Sprintf("%s ended the shell, or made another program of it (%s)", of.start, ran.status), "see what it does when nobody is at a terminal")
		default:
			why = unread
		}
	}
	return "", why
}

// check tries a snapshot.
func (m *Maker) check(of subject, file string, env []string) *messages.Error {
	word := string(m.options.NewID())
	read, try := shelltext.SnapshotChecks(of.shell, file, word)
	for _, c := range []struct {
		argv []string
		want string
		what string
	}{{read, "", "it cannot be read again"}, {try, word, "a command under it fails, or writes what is not its own"}} {
		ran := m.run(c.argv, env, m.options.Limit, messages.MergedStreams, maxSaid)
		switch {
		case ran.failed != nil:
			return shelltext.NoSnapshot("the shell cannot be run: "+ran.failed.Message, ran.failed.Hint)
		case ran.late():
			return shelltext.NoSnapshot("a command under it does not end", "look for what "+of.start+" sets up for every command")
		case ran.status != (messages.ExitStatus{}) || string(ran.output) != c.want:
			return shelltext.NoSnapshot(fmt.Sprintf("%s (%s): %s", c.what, ran.status, said(ran.output)), "look for what "+of.start+" sets up for every command")
		}
	}
	return nil
}
