package inject

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"troupe/actors"
	"troupe/backends"
	"troupe/faults"
	"troupe/messages"
)

// Keepers is the engine of a daemon.
type Keepers interface {
	backends.Engine
	backends.Detacher
	backends.RemoteEngine
	backends.LiveReader
	PID() int
}

// engine lets starts fail and hang, and watches the ends of what it starts.
type engine struct {
	Keepers
	in *Injector
}

// Engine returns an engine whose jobs meet the faults of the plan.
func (i *Injector) Engine(k Keepers) backends.Engine {
	e := &engine{Keepers: k, in: i}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.signals[faults.Keeper] = func(_ messages.UID, name string) {
		if pid := k.PID(); pid > 1 {
			_ = unix.Kill(pid, unix.SignalNum("SIG"+name))
		}
	}
	return e
}

// Start implements backends.Engine.
func (e *engine) Start(s backends.Spec, facts backends.FactHandler) backends.Process {
	job, known := actors.JobOfMeta(s.Meta)
	if !known { // a live shell
		w := e.in.newProcess(s.ID, "", identity{}, facts)
		p, _ := w.begin(e.Keepers.Start(s, w.heard), nil)
		return p
	}
	of, at := identityOf(job), faults.Start
	if s.In != "" {
		at = faults.Shell
	}
	w := e.in.newProcess(s.ID, s.In, of, facts)
	for _, f := range e.in.at(at, s.ID, of) {
		switch f.Do {
		case faults.Errno, faults.NoSpace, faults.NoDescriptors, faults.ForkRefused:
			e.in.ended(w)
			return backends.FailStart(facts, startError(f))
		default:
			disturb(&s, f)
		}
	}
	p, _ := w.begin(e.Keepers.Start(s, w.heard), nil)
	return p
}

// Inventory implements backends.Engine.
func (e *engine) Inventory(ctx context.Context) ([]backends.InventoryJob, error) {
	all, err := e.Keepers.Inventory(ctx)
	e.in.mu.Lock()
	defer e.in.mu.Unlock()
	for _, j := range all {
		if job, known := actors.JobOfMeta(j.Meta); known {
			e.in.held[j.ID] = identityOf(job)
		}
	}
	return all, err
}

// Adopt implements backends.Engine.
func (e *engine) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	e.in.mu.Lock()
	of, known := e.in.held[id]
	e.in.mu.Unlock()
	if !known {
		return e.Keepers.Adopt(id, facts)
	}
	w := e.in.newProcess(id, "", of, facts)
	return w.begin(e.Keepers.Adopt(id, w.heard))
}

// disturb changes what is started: a shell waits, or leaves a process that holds the output, before
// it becomes the command.
func disturb(s *backends.Spec, f faults.Fault) {
	wait := "sleep " + strconv.FormatFloat(f.For.Seconds(), 'f', 3, 64)
	switch f.Do {
	case faults.Hang:
		wait = "sleep 2147483647" // until it is stopped
	case faults.HeldPipe:
		wait += " &"
	}
	if s.In != "" {
		s.Script = wait + "\n" + s.Script
		return
	}
	s.Argv = append([]string{"/bin/sh", "-c", wait + "\n" + `exec "$0" "$@"`}, s.Argv...)
	s.Program = ""
}

// startError returns the error of a job that could not start.
func startError(f faults.Fault) messages.Error {
	code := messages.SpawnFailed
	if slices.Contains([]string{"EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC"}, f.Errno) {
		code = messages.ResourceExhausted
	}
	return messages.Error{Code: code, Reason: f.Errno, Message: fmt.Sprintf("the command cannot be started: %s (a fault of the rule %q)", f.Errno, f.Rule)}
}
