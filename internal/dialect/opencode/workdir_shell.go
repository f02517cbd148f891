package opencode

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/host"
	"troupe/messages"
)

// maxShells bounds the live shells of a session: each is a process. The one that is unused for
// longest is closed.
const maxShells = 16

// loginTime bounds the start files of a login shell.
const loginTime = 10 * time.Second

// workdirShell is the live shell of a directory: variables, functions and the current directory
// stay from call to call. The session's mutex guards its fields, except login.
type workdirShell struct {
	id    messages.SessionID
	dir   string
	login sync.Once // its start files ran
	calls int       // that run in it or wait for it
	used  uint64    // number of its last call
	lost  bool      // the shell before it has ended with a command
}

// useShell reserves the shell of a directory; nil: too many are in use. note says that it is
// new in place of one that has ended.
func (s *Session) useShell(dir string) (sh *workdirShell, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // it would stay open
		return nil, ""
	}
	sh = s.shells[dir]
	if sh == nil {
		if len(s.shells) >= maxShells && !s.closeOldest() {
			return nil, ""
		}
		sh = s.newShell(dir)
	}
	s.uses++
	sh.calls, sh.used = sh.calls+1, s.uses
	if sh.lost {
		note, sh.lost = textShellLost, false
	}
	return sh, note
}

// newShell enters a shell in the table; its id is never used again. The caller holds mu.
func (s *Session) newShell(dir string) *workdirShell {
	s.opened++
	sh := &workdirShell{id: messages.SessionID(fmt.Sprintf("opencode-%.8x-%d", sha256.Sum256([]byte(dir)), s.opened)), dir: dir}
	s.shells[dir] = sh
	return sh
}

// fate says what becomes of a shell after a command.
type fate int

const (
	keepShell  fate = iota
	dropShell       // closed; the next call gets another one
	missShell       // there was none to have; the next call tries again
	leaveShell      // a command that a person has promoted runs on in it; the next call gets another one
)

// release ends a call's use of a shell.
func (s *Session) release(sh *workdirShell, what fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.calls--
	if what == keepShell || s.shells[sh.dir] != sh {
		return
	}
	next := s.newShell(sh.dir)
	next.used, next.lost = sh.used, what != missShell
	if what == dropShell {
		s.options.Beside.Go(func() { s.closeShell(context.WithoutCancel(s.ctx), sh.id) })
	}
}

// closeOldest closes the idle shell that is unused for longest. The caller holds mu.
func (s *Session) closeOldest() bool {
	var oldest *workdirShell
	for _, sh := range s.shells {
		if sh.calls == 0 && (oldest == nil || sh.used < oldest.used) {
			oldest = sh
		}
	}
	if oldest == nil {
		return false
	}
	delete(s.shells, oldest.dir)
	s.options.Beside.Go(func() { s.closeShell(context.WithoutCancel(s.ctx), oldest.id) })
	return true
}

func (s *Session) closeShell(ctx context.Context, id messages.SessionID) {
	_, err := host.Ask(ctx, s.options.Host, messages.CloseSession{Scope: s.options.Scope, Session: id, Grace: grace, Reason: textShellUnused})
	for _, gone := range []messages.Code{messages.NotFound, messages.SessionClosedCode} {
		if errors.Is(err, &messages.Error{Code: gone}) {
			return
		}
	}
	if err != nil {
		s.options.Log.Warn("a shell could not be closed", "session", string(id), "error", err)
	}
}

// run runs a command in the shell of its directory, or in a process of its own if there is no
// shell for it. note says that the state of a former shell is lost.
func (s *Session) run(ctx context.Context, r messages.RunCommand) (job messages.Record, note string, err error) {
	sh, note := s.useShell(r.Dir)
	if sh == nil {
		job, _, err = s.options.Host.Run(ctx, r, 0, nil)
		return job, "", err
	}
	sh.login.Do(func() { s.logIn(context.WithoutCancel(ctx), sh, r) })
	job, _, err = s.options.Host.Run(ctx, inShell(sh, r), 0, nil)
	if ctx.Err() == nil && refusedShell(job, err) {
		s.release(sh, missShell)
		job, _, err = s.options.Host.Run(ctx, r, 0, nil)
		return job, note, err
	}
	if job.HasFlag(messages.FlagReplaced) {
		note = textShellLost
	}
	what := keepShell
	switch {
	case err == nil && !job.State.Ended():
		what = leaveShell
	case job.HasFlag(messages.FlagSessionEnded), err != nil && ctx.Err() == nil:
		what = dropShell
	}
	s.release(sh, what)
	return job, note, err
}

// inShell returns the request for a command in a shell.
func inShell(sh *workdirShell, r messages.RunCommand) messages.RunCommand {
	r.Open = &messages.SessionPlan{Backend: messages.BackendShell, Dir: r.Dir, Env: r.Env, Shell: r.Shell}
	r.Session, r.Dir, r.Env, r.Shell = sh.id, "", messages.Env{}, ""
	return r
}

// logIn runs the start files of a login shell. What they print is not shown, and a failure of
// theirs is none of the command.
func (s *Session) logIn(ctx context.Context, sh *workdirShell, r messages.RunCommand) {
	r = inShell(sh, r)
	r.UID, r.Text, r.Timeout, r.Labels = messages.UID(ulid.Make().String()), loginText(r.Open.Shell), loginTime, messages.Labels{Description: textLogin}
	if _, _, err := s.options.Host.Run(ctx, r, 0, nil); err != nil {
		s.options.Log.Warn("the start files of a login shell did not run", "error", err)
	}
}

// loginText returns the text that sources the start files of a login shell, and returns to the
// directory of the shell.
func loginText(shell string) string {
	first := `[ -r /etc/profile ] && . /etc/profile; `
	own := `~/.profile`
	switch filepath.Base(shell) {
	case "bash":
		own = `~/.bash_profile ~/.bash_login ~/.profile`
	case "zsh":
		first, own = `for f in /etc/zprofile /etc/zsh/zprofile; do [ -r "$f" ] && . "$f"; done; `, `"${ZDOTDIR:-$HOME}/.zprofile"`
	}
	return `__troupe_d=$PWD; ` + first + `for __troupe_f in ` + own + `; do [ -r "$__troupe_f" ] && { . "$__troupe_f"; break; }; done; cd "$__troupe_d"; unset __troupe_d __troupe_f`
}

// refusedShell reports whether a command did not run because there is no shell for it.
func refusedShell(job messages.Record, err error) bool {
	for _, code := range []messages.Code{messages.ResourceExhausted, messages.Unsupported, messages.Conflict, messages.SessionClosedCode} {
		if errors.Is(err, &messages.Error{Code: code}) {
			return true
		}
	}
	return err == nil && job.End.Outcome == messages.FailedToStart
}
