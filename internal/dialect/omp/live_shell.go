package omp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// maxOpened bounds the live shells that are kept open for what background jobs have left
// behind in them.
const maxOpened = 64

// liveShell is the shell that the calls of one key share, one call at a time.
type liveShell struct {
	generation int
	busy       bool // a command is in it
	lost       bool // the next call is told that it begins anew
	broken     bool // its key is for processes of their own from now on
}

// shellUse is a command's hold of a live shell.
type shellUse struct {
	id    messages.SessionID
	key   string
	notes []string
	own   bool // of a background job: nobody comes after it
}

// useShell gives the shell of a key, nil if there is none for it: the key is broken, or
// its shell has a command in it. own is said of a background job.
func (s *Session) useShell(key shelltext.ReuseKey, own bool) *shellUse {
	digest := key.Digest()
	s.mu.Lock()
	defer s.mu.Unlock()
	if own {
		s.count++
		u := &shellUse{id: messages.SessionID(fmt.Sprintf("omp-%.32s-%d", digest, s.count)), own: true}
		s.opened[u.id] = struct{}{}
		return u
	}
	live := s.shells[digest]
	if live == nil {
		live = &liveShell{}
		s.shells[digest] = live
	}
	if live.busy || live.broken {
		return nil
	}
	live.busy = true
	u := &shellUse{id: messages.SessionID(fmt.Sprintf("omp-%.32s", digest)), key: digest}
	if live.generation > 0 { // its name is that of one that may still be there
		u.id += messages.SessionID(fmt.Sprintf("-g%d", live.generation))
	}
	if live.lost {
		u.notes, live.lost = []string{textShellReplaced}, false
	}
	s.opened[u.id] = struct{}{}
	return u
}

// shellFate is what becomes of a live shell behind a command.
type shellFate int

const (
	keepShell  shellFate = iota
	dropShell            // it is closed, and the next call has another
	breakShell           // and no call with its key has one any more
	leaveShell           // a command goes on in it: the next call has another
)

// release gives a shell back. One that is dropped is closed beside the call.
func (s *Session) release(u *shellUse, what shellFate) {
	if u == nil {
		return
	}
	s.mu.Lock()
	if live := s.shells[u.key]; live != nil && !u.own {
		live.busy = false
		if what != keepShell {
			live.generation++
			live.lost = true
		}
		live.broken = live.broken || what == breakShell
	}
	s.mu.Unlock()
	if what == dropShell || what == breakShell {
		s.closeShell(u.id)
	}
}

// retire ends the shell of a background job, unless that has left something in it that
// its user may want; too many of these are closed all the same.
func (s *Session) retire(u *shellUse, job messages.Job) {
	if u == nil {
		return
	}
	s.mu.Lock()
	closes := job.Children == 0 || len(s.opened) > maxOpened
	s.mu.Unlock()
	if closes {
		s.closeShell(u.id)
	}
}

func (s *Session) closeShell(id messages.SessionID) {
	s.mu.Lock()
	_, open := s.opened[id]
	delete(s.opened, id)
	s.mu.Unlock()
	if !open {
		return
	}
	s.options.Beside.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(s.ctx), hardGrace)
		defer stop()
		_, err := s.options.Host.CloseSession(ctx, messages.CloseSession{Scope: s.options.Scope, Session: id, Grace: grace, Reason: "its shell is not used any more"})
		if err != nil && !gone(err) {
			s.options.Log.Warn("a shell could not be closed", "session", string(id), "error", err)
		}
	})
}

// minimizerOptions are those of the minimizer, which set shells apart in the family.
func (s *Session) minimizerOptions() []string {
	m := s.options.Settings.Minimizer
	return []string{
		fmt.Sprintf("minimizer=%t/%d", m.Enabled, m.MaxCaptureBytes),
		"only=" + strings.Join(slices.Sorted(slices.Values(m.Only)), ","), "except=" + strings.Join(slices.Sorted(slices.Values(m.Except)), ","),
	}
}
