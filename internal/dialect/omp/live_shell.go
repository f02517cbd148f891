package omp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"troupe/host"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// maxOpened bounds the live shells that stay open for the leftovers of background jobs.
const maxOpened = 64

// liveShell is the shell shared by the calls of one key, one call at a time.
type liveShell struct {
	generation int
	busy       bool // a command runs in it
	lost       bool // the next call gets a note that the shell is new
	broken     bool // commands of its key run in processes of their own
}

// shellUse is a command's use of a live shell.
type shellUse struct {
	id    messages.SessionID
	key   string
	notes []string
	own   bool // of a background job; not shared
}

// useShell reserves the shell of a key. It returns nil if the key is broken, or a command
// runs in the shell. own asks for a new shell for a background job.
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
	if live.generation > 0 { // the shell of the previous generation may still exist
		u.id += messages.SessionID(fmt.Sprintf("-g%d", live.generation))
	}
	if live.lost {
		u.notes, live.lost = []string{textShellReplaced}, false
	}
	s.opened[u.id] = struct{}{}
	return u
}

// shellFate says what happens to a live shell after a command.
type shellFate int

const (
	keepShell  shellFate = iota
	dropShell            // closed; the next call gets another one
	breakShell           // closed; calls with its key get none any more
	leaveShell           // a command continues in it; the next call gets another one
)

// release ends a command's use of a shell. A dropped shell is closed in the background.
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

// leave ends the use of a shell in which a promoted command continues, also after the session.
func (s *Session) leave(u *shellUse) {
	s.release(u, leaveShell)
	if u == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.opened, u.id)
}

// retire closes the shell of a background job, unless the job has left processes in it.
// Beyond maxOpened it closes the shell all the same.
func (s *Session) retire(u *shellUse, job messages.Record) {
	if u == nil {
		return
	}
	s.mu.Lock()
	closes := job.End.Children == 0 || len(s.opened) > maxOpened
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
		_, err := host.Ask(ctx, s.options.Host, messages.CloseSession{Scope: s.options.Scope, Session: id, Grace: grace, Reason: "its shell is not used any more"})
		if err != nil && !gone(err) {
			s.options.Log.Warn("a shell could not be closed", "session", string(id), "error", err)
		}
	})
}

// minimizerOptions returns the minimizer's settings, which oh-my-pi includes in the key of
// a shell.
func (s *Session) minimizerOptions() []string {
	m := s.options.Settings.Minimizer
	return []string{
		fmt.Sprintf("minimizer=%t/%d", m.Enabled, m.MaxCaptureBytes),
		"only=" + strings.Join(slices.Sorted(slices.Values(m.Only)), ","), "except=" + strings.Join(slices.Sorted(slices.Values(m.Except)), ","),
	}
}
