package copilot

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// attached is an attached shell. The session's mutex guards it.
type attached struct {
	id       string
	session  messages.SessionID // the live shell; "": each command has its own process
	ready    bool               // its init was run
	commands int
	last     *execution
}

// open returns the shell of an id, or opens one. It closes an idle shell if there are too
// many; nil: none is idle. The caller holds s.mu.
func (s *Session) open(id string) *attached {
	if sh := s.shells[id]; sh != nil {
		return sh
	}
	if len(s.shells) >= mostShells && !s.reclaim() {
		return nil
	}
	sh := &attached{id: id}
	if s.can.TTYSupport { // names are never reused: the previous shell may still be closing
		sh.session = messages.SessionID("copilot-" + strings.ToLower(ulid.Make().String()))
	}
	s.shells[id] = sh
	return sh
}

// reclaim closes the shell that has been idle longest. The caller holds s.mu.
func (s *Session) reclaim() bool {
	for _, e := range s.order {
		if sh := s.shells[e.id]; e.ended && sh != nil && sh.last == e {
			s.drop(sh, ReasonCleanup)
			s.closeBeside(sh)
			return true
		}
	}
	return false
}

// drop removes a shell from the table and remembers the reason. The caller holds s.mu.
func (s *Session) drop(sh *attached, why Reason) {
	delete(s.shells, sh.id)
	end := Shutdown{ShellID: sh.id, Reason: why, At: s.options.Now()}
	if e := sh.last; e != nil {
		end.ExitCode, end.CommandHash, end.CommandLength = e.exit, e.digest, e.length
	}
	s.remember(end)
}

// restore puts back a dropped shell that could not be closed, unless another one has its
// id.
func (s *Session) restore(sh *attached, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.shells[sh.id] != nil || s.tasks[sh.id] != sh.last {
		return
	}
	s.shells[sh.id] = sh
	sh.last.stopped = stopped
	for i, end := range slices.Backward(s.shutdowns) {
		if end.ShellID == sh.id {
			s.shutdowns = slices.Delete(s.shutdowns, i, i+1)
			return
		}
	}
}

func (s *Session) remember(end Shutdown) {
	s.shutdowns = append(s.shutdowns, end)
	s.shutdowns = s.shutdowns[max(0, len(s.shutdowns)-mostShutdowns):]
}

// shut stops a dropped shell with its process tree.
func (s *Session) shut(ctx context.Context, sh *attached) error {
	var err error
	switch {
	case sh.session != "":
		_, err = host.Ask(ctx, s.options.Host, messages.CloseSession{Scope: s.options.Scope, Session: sh.session, Grace: terminalGrace, Reason: "its shell was shut down"})
	case sh.last != nil && !s.standing(sh.last).over:
		_, err = host.Ask(ctx, s.options.Host, messages.StopCommand{Job: sh.last.job(), Grace: grace, Reason: "its shell was shut down"})
	}
	if gone(err) {
		return nil
	}
	return err
}

// closeBeside shuts a shell in the background.
func (s *Session) closeBeside(sh *attached) {
	s.options.Beside.Go(func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(s.ctx), closeTime)
		defer stop()
		if err := s.shut(ctx, sh); err != nil {
			s.options.Log.Warn("a shell could not be closed", "shell", sh.id, "error", err)
		}
	})
}

// request returns the host request for a command; sh is nil for a detached one.
func (s *Session) request(e *execution, sh *attached, text, dir string) messages.RunCommand {
	config := s.options.Settings.Shell
	r := messages.RunCommand{
		UID: e.uid, Scope: s.options.Scope, Labels: messages.Labels{Description: e.description}, Stdio: messages.Stdio{Streams: messages.MergedStreams}, Grace: grace,
		Store: messages.Store{Quota: s.options.Settings.Quota},
	}
	if sh != nil && sh.session != "" {
		r.Session, r.Text, r.Grace = sh.session, text, terminalGrace
		r.Open = &messages.SessionPlan{
			Backend: messages.BackendShellPTY, Dir: dir, Env: messages.Env{Policy: messages.EnvCaller, Base: s.env}, Shell: config.Program, Terminal: terminal,
		}
		return r
	}
	r.Dir, r.Env.Policy, r.Env.Base, r.Stdin = dir, messages.EnvCaller, s.env, messages.StdinNull
	if argv, ok := config.argv(text); ok {
		r.Argv = argv
	} else {
		r.Text, r.Shell = text, config.Program
		if config.Wrap != nil {
			r.Text = config.Wrap(text)
		}
	}
	return r
}

// dirOf returns the directory of a detached command: the current one of the shell with its
// id, or the session's.
func (s *Session) dirOf(ctx context.Context, sh *attached) string {
	if sh == nil || sh.session == "" {
		return s.options.Dir
	}
	sessions, err := dialect.Sessions(ctx, s.options.Host, s.options.Scope)
	if err != nil {
		return s.options.Dir
	}
	for _, info := range sessions {
		if info.Session == sh.session && info.Dir != "" {
			return info.Dir
		}
	}
	return s.options.Dir
}

// closeShells closes all attached shells in parallel and leaves detached commands running
//
func (s *Session) closeShells(ctx context.Context) error {
	s.mu.Lock()
	chosen := slices.Collect(maps.Values(s.shells))
	for _, sh := range chosen {
		sh.last.stopped = sh.last.stopped || !sh.last.ended
		s.drop(sh, ReasonStopped)
	}
	s.mu.Unlock()
	errs := make([]error, len(chosen))
	var all sync.WaitGroup
	for i, sh := range chosen {
		all.Add(1)
		s.options.Beside.Go(func() {
			defer all.Done()
			errs[i] = s.shut(ctx, sh)
			s.settle(ctx, sh.last)
			sh.last.abandon()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
