package shell

import (
	"context"

	words "troupe/internal/shelltext"
	"troupe/messages"
)

// Snapshots make files of what users have set up for their shells, as package snapshot
// does.
type Snapshots interface {
	// Of is the file for the shell at a path, whose user is that of env, or why there is
	// none; neither, if that user has set up nothing. It waits for some seconds at most,
	// or until ctx ends.
	Of(ctx context.Context, path string, env []string) (file string, why *messages.Error)
}

// wantsSnapshot reports whether the next command begins a shell that takes up a
// snapshot. Called with mu.
func (p *executor) wantsSnapshot() bool {
	return p.current == nil && p.backend.options.Snapshots != nil && len(words.SnapshotRuns(p.shell())) > 0
}

// begin starts a command behind the snapshot that its shell takes up. Until then it may
// be asked and let go of as any other.
func (h *command) begin() {
	p := h.place
	p.awaitSnapshot()
	p.starting.Lock()
	defer p.starting.Unlock()
	p.mu.Lock()
	mine, over := p.commands[h.id] == h, p.closing || p.released
	p.mu.Unlock()
	if !mine { // it was let go of, and whoever wants it now has started it
		return
	}
	err := closedError()
	if !over {
		err = h.start()
	}
	if err != nil {
		f := failed(*err)
		h.note(f)
		h.facts(f)
		h.leave(f)
	}
}

// awaitSnapshot finds what the next shell of the place takes up, and tells the place what
// became of that. It may wait.
func (p *executor) awaitSnapshot() {
	p.mu.Lock()
	wanted := p.wantsSnapshot() && !p.closing && !p.released
	p.mu.Unlock()
	if !wanted {
		return
	}
	program, err := p.backend.look(p.driver.program(p.at.Shell), p.at.Env)
	if err != nil {
		return // the start of the shell says so
	}
	file, why := p.backend.options.Snapshots.Of(p.while, program, p.at.Env)
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

// takesUp is the text by which the next shell takes up its snapshot. What a shell before
// it had as PATH stays, as what else it exported. Called with mu.
func (p *executor) takesUp() string {
	if p.snapshot == "" {
		return ""
	}
	return words.SourceSnapshot(p.snapshot, p.at.OwnPath || p.hadShell)
}
