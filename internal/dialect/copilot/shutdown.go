package copilot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ShutdownOptions selects what is shut down. With a SessionID and without Force that is
// nothing: the shells belong to an agent's session that continues.
type ShutdownOptions struct {
	Force     bool
	SessionID string
}

// Shutdown closes all attached shells and leaves detached commands running.
func (s *Session) Shutdown(ctx context.Context, o ShutdownOptions) error {
	if !o.Force && o.SessionID != "" {
		return nil
	}
	return s.closeShells(ctx, ReasonStopped, func(*attached) bool { return true })
}

// ShutdownIdle closes the attached shells without a running command.
func (s *Session) ShutdownIdle(ctx context.Context) error {
	return s.closeShells(ctx, ReasonCleanup, func(sh *attached) bool { return sh.last.ended })
}

// closeShells closes the chosen shells in parallel. It calls which with s.mu held.
func (s *Session) closeShells(ctx context.Context, why Reason, which func(*attached) bool) error {
	s.mu.Lock()
	var chosen []*attached
	for _, sh := range s.shells {
		if which(sh) {
			chosen = append(chosen, sh)
		}
	}
	for _, sh := range chosen {
		sh.last.stopped = sh.last.stopped || !sh.last.ended
		s.drop(sh, why)
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

// WaitForActiveShells waits until no command runs in an attached shell, at most most and at
// most 600 s. It reports whether that was reached.
func (s *Session) WaitForActiveShells(ctx context.Context, most time.Duration) bool {
	ctx, stop := context.WithTimeout(ctx, min(most, mostWait))
	defer stop()
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.order, func(e *execution) bool { return !e.detached && !e.ended })
		if i < 0 {
			s.mu.Unlock()
			return true
		}
		done := s.order[i].done
		s.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return false
		}
	}
}

// canWrite reports whether the model can write input.
func (s *Session) canWrite() bool {
	return s.can.TerminalInput && (s.options.Tools == nil || slices.Contains(s.options.Tools, s.options.Settings.Shell.Tools.Write))
}

// descriptions returns the descriptions of the tools.
func (s *Session) descriptions() ToolNames {
	execute := descExecute
	if !s.can.TTYSupport {
		execute = descSpawn
	}
	return ToolNames{Execute: fmt.Sprintf(execute, s.options.Settings.Shell.Kind), Read: descRead, Write: descWrite, Stop: descStop, List: descList}
}
