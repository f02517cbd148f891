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

// Limit bounds all tries to run the user's file, and each check of a snapshot.
const Limit = 2 * time.Second

// Options configure a Maker; Dir and NewID are required.
type Options struct {
	// Dir returns the directory for the folder of snapshots, and may make it. Only this user
	// may be able to enter it, and it must be cleaned up after a kill of this process. Dir is
	// called for each snapshot.
	Dir func() (string, error)
	// NewID makes the ids of jobs and files.
	NewID func() messages.UID
	Limit time.Duration // 0: Limit
	// Forget drops the logs of a job that no client will read; nil: they stay.
	Forget func(job messages.UID)
}

// Maker makes snapshots and keeps one for each shell. It is safe for concurrent use.
type Maker struct {
	engine  backends.Engine
	options Options
	over    chan struct{} // closed by Close
	working sync.WaitGroup

	mu     sync.Mutex
	made   map[subject]*result
	dir    string // of the files; "": none was written
	closed bool
}

// subject is the source of a snapshot: a shell, and its user's start file.
type subject struct{ shell, start string }

// result is a snapshot, or why there is none.
type result struct {
	done    chan struct{} // closed when file, why and sources are set
	file    string
	why     *messages.Error
	sources []source
	older   string // previous file, which a shell that starts now may source; "": none
}

// source is a file of the user on which a snapshot depends, as it was before it ran.
type source struct {
	path string
	info os.FileInfo // nil: missing
}

// New returns a Maker that runs its jobs on an engine.
func New(engine backends.Engine, o Options) *Maker {
	o.Limit = cmp.Or(o.Limit, Limit)
	return &Maker{engine: engine, options: o, over: make(chan struct{}), made: map[subject]*result{}}
}

// Of returns the file of a snapshot for the shell at path and the user of env. The first call
// makes it, and any call after it was deleted or the user's files changed; concurrent calls
// wait for the same one. Of blocks for some seconds at most, or until ctx ends.
//
// Without a snapshot the error has the code unsupported and the reason snapshot, and the shell
// starts without one. The error, too, is kept until the user's files change.
func (m *Maker) Of(ctx context.Context, path string, env []string) (file string, why *messages.Error) {
	of := subject{path, shelltext.StartFile(shelltext.Kind(path), env)}
	switch {
	case runtime.GOOS == "windows" || len(shelltext.SnapshotRuns(path)) == 0:
		return "", shelltext.NoSnapshot(fmt.Sprintf("the shell %s cannot print its setup", path), "use bash, zsh or sh")
	case !filepath.IsAbs(path) || !filepath.IsAbs(of.start):
		return "", shelltext.NoSnapshot("the path of the shell is not absolute, or HOME is not set", "set both")
	}
	r := m.result(of, env)
	if r == nil {
		return "", shelltext.NoSnapshot("this node is shutting down", "")
	}
	select {
	case <-r.done:
		return r.file, r.why
	case <-ctx.Done():
		return "", shelltext.NoSnapshot("the request ended before it was made", "")
	}
}

// result returns the valid result or the one being made, or starts one; nil: the maker is closed.
// Files are compared without the lock: their directory may hang.
func (m *Maker) result(of subject, env []string) *result {
	for {
		m.mu.Lock()
		last, closed := m.made[of], m.closed
		m.mu.Unlock()
		if closed {
			return nil
		}
		if last != nil && last.holds() {
			return last
		}
		if r := m.replace(of, env, last); r != nil {
			return r
		}
	}
}

// replace starts to make a snapshot in place of last; nil: another call has replaced it, or the
// maker is closed. Of the files before it, only that of last stays.
func (m *Maker) replace(of subject, env []string, last *result) *result {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.made[of] != last {
		return nil
	}
	r := &result{done: make(chan struct{})}
	if last != nil {
		r.older = cmp.Or(last.file, last.older)
		if last.older != r.older {
			_ = os.Remove(last.older)
		}
	}
	m.made[of] = r
	m.working.Go(func() {
		defer close(r.done)
		r.sources = sourcesOf(of.start, env)
		r.file, r.why = m.build(of, env)
	})
	return r
}

// holds reports whether a result is still valid, or not made yet.
func (r *result) holds() bool {
	select {
	case <-r.done:
	default:
		return true
	}
	for _, s := range r.sources {
		if !s.unchanged() {
			return false
		}
	}
	if r.why != nil {
		return true
	}
	_, err := os.Lstat(r.file)
	return err == nil
}

// Close waits for snapshots being made and removes the files. No snapshot is made afterwards.
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
		for _, file := range []string{r.file, r.older} {
			if file != "" {
				errs = append(errs, remove(file))
			}
		}
	}
	if m.dir != "" {
		errs = append(errs, remove(m.dir))
	}
	return errors.Join(errs...)
}

// remove removes a file, which may be missing.
func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// build makes one snapshot: dump, write, check.
func (m *Maker) build(of subject, env []string) (string, *messages.Error) {
	text, why := m.dump(of, shelltext.SnapshotEnv(env))
	if why != nil {
		return "", why
	}
	file, err := m.write(of, text)
	if err != nil {
		return "", shelltext.NoSnapshot("cannot write it: "+err.Error(), "check the free space and the modes of the node's directory")
	}
	if why := m.check(of, file, shelltext.SnapshotEnv(env)); why != nil {
		_ = os.Remove(file)
		return "", why
	}
	return file, nil
}

// dump runs the user's file and returns the shell's setup after it as the text of a snapshot. If
// a shell exits without its setup, the next way to run it gets the remaining time.
func (m *Maker) dump(of subject, env []string) (text string, why *messages.Error) {
	until := time.Now().Add(m.options.Limit)
	for _, argv := range shelltext.SnapshotRuns(of.shell) {
		left := time.Until(until)
		if left <= 0 {
			break
		}
		ran := m.run(argv, env, left, messages.SeparateStreams, shelltext.MaxSnapshot+1) // standard error of an interactive shell has complaints about the terminal
		if ran.failed != nil {
			return "", shelltext.NoSnapshot("cannot run the shell: "+ran.failed.Message, ran.failed.Hint)
		}
		var unread *messages.Error
		if text, unread = shelltext.Snapshot(shelltext.Kind(of.shell), ran.output); unread == nil {
			return text, nil
		}
		switch {
		case ran.late():
			return "", shelltext.NoSnapshot(fmt.Sprintf("%s did not come to its end within %s, and was killed", of.start, m.options.Limit), "check what it waits for without a user at the terminal")
		case why != nil: // the first way shows what users see of their own shell
		case len(ran.output) == 0:
			why = shelltext.NoSnapshot(fmt.Sprintf("%s ended or replaced the shell (%s)", of.start, ran.status), "check what it does without a terminal")
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
	}{{read, "", "the shell cannot read it"}, {try, word, "a command fails with it, or gets other output"}} {
		ran := m.run(c.argv, env, m.options.Limit, messages.MergedStreams, maxSaid)
		switch {
		case ran.failed != nil:
			return shelltext.NoSnapshot("cannot run the shell: "+ran.failed.Message, ran.failed.Hint)
		case ran.late():
			return shelltext.NoSnapshot("a command with it does not end", "check what "+of.start+" sets up for every command")
		case ran.status != (messages.ExitStatus{}) || string(ran.output) != c.want:
			return shelltext.NoSnapshot(fmt.Sprintf("%s (%s): %s", c.what, ran.status, said(ran.output)), "check what "+of.start+" sets up for every command")
		}
	}
	return nil
}
