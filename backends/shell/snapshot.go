package shell

import (
	"context"

	"troupe/backends"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Snapshots makes files of users' shell setup; package snapshot implements it.
type Snapshots interface {
	// Of returns the file for the shell at path and the user of env. why explains a
	// failure. Both are empty if the user has no setup. Of takes a few seconds at most,
	// and ends with ctx.
	Of(ctx context.Context, path string, env []string) (file string, why *messages.Error)
}

// wantsSnapshot reports whether the next command starts a shell that sources a
// snapshot. The caller holds mu.
func (p *executor) wantsSnapshot() bool {
	return p.current == nil && p.backend.options.Snapshots != nil && len(shelltext.SnapshotRuns(p.shell())) > 0
}

// startAfterSnapshot starts a command after the snapshot of its shell is made. Until
// then the command can be called and yielded as any other.
func (h *command) startAfterSnapshot() {
	p := h.executor
	p.awaitSnapshot()
	p.starting.Lock()
	defer p.starting.Unlock()
	p.mu.Lock()
	mine, over := p.commands[h.id] == h, p.closing || p.released
	p.mu.Unlock()
	if !mine { // it was yielded, and its new executor starts it
		return
	}
	err := closedError()
	if !over {
		err = h.start()
	}
	if err != nil {
		f := backends.StartFailure(*err)
		h.record(f)
		h.facts(f)
		h.remove(f)
	}
}

// awaitSnapshot makes the snapshot of the next shell, and sends SnapshotTried.
func (p *executor) awaitSnapshot() {
	p.mu.Lock()
	wanted := p.wantsSnapshot() && !p.closing && !p.released
	p.mu.Unlock()
	if !wanted {
		return
	}
	program, err := p.backend.findProgram(p.driver.program(p.at.Shell), p.at.Env)
	if err != nil {
		return // the start of the shell reports it
	}
	file, why := p.backend.options.Snapshots.Of(p.ctx, program, p.at.Env)
	p.mu.Lock()
	p.snapshot = file
	tell := !p.closing && !p.released
	p.mu.Unlock()
	switch {
	case !tell:
	case why != nil:
		p.facts(messages.SnapshotTried{Err: *why})
	case file != "":
		p.facts(messages.SnapshotTried{})
	}
}

// snapshotText returns the text that sources the snapshot. The PATH of a former shell
// is kept, as its other exports are. The caller holds mu.
func (p *executor) snapshotText() string {
	if p.snapshot == "" {
		return ""
	}
	return shelltext.SourceSnapshot(p.snapshot, p.at.OwnPath || p.hadShell)
}
