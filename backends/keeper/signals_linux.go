package keeper

import (
	"cmp"
	"fmt"
	"path/filepath"

	"troupe/internal/signals"
	"troupe/messages"
)

// guardSignals makes this process refuse signals of its jobs, which would end it with
// every other job.
func (s *server) guardSignals() {
	root := filepath.Dir(s.options.Dir) // the state directory
	if s.options.Alone {
		root = filepath.Dir(root)
	}
	guard, err := signals.NewGuard(root)
	if err != nil {
		s.fault("", fmt.Errorf("cannot check the senders of signals: %w", err))
	}
	if guard != nil {
		go guard.Run(s.signalled)
	}
}

// signalled records the sender of a signal, and sends it to the client for the daemon's
// log. The record of a job whose signal is refused has a flag.
func (s *server) signalled(by signals.Sender) {
	var job messages.UID
	did := "obeyed "
	if by.Refused != "" {
		did = "refused "
		job = s.engine.Flag(messages.UID(by.UID), messages.FlagSignalRefused)
		by.Job = cmp.Or(by.Job, string(job))
	}
	if by.Quiet {
		return
	}
	e := refused(messages.Refused, signalReason, "the keeper "+did+by.String(), "")
	if by.Refused == "" {
		s.mu.Lock()
		s.stoppedBy = by.String()
		s.mu.Unlock()
	}
	s.report(job, e)
}

// report records what is no fault, and sends it to the client for the daemon's log.
func (s *server) report(job messages.UID, e *messages.Error) {
	s.fault(job, e)
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil {
		s.say(l, message{kind: sayRefused, job: job, body: encode(e)})
	}
}

// stopReason returns why the jobs end when the keeper is stopped.
func (s *server) stopReason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stoppedBy == "" {
		return "its keeper was stopped"
	}
	return "its keeper was stopped by " + s.stoppedBy
}
