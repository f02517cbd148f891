package shell

import (
	"troupe/backends"
	"troupe/messages"
)

// shellOwner is whose a live shell is.
type shellOwner struct {
	scope   messages.ScopePath
	session messages.SessionID
}

func (p *executor) seat() shellOwner { return shellOwner{p.at.Scope, p.at.Session} }

// leaveBehind remembers the shells of a place that is let go of: it will be opened
// again, with what it holds. Called with mu.
func (p *executor) leaveBehind() {
	var held []backends.InventoryJob
	for id, s := range p.shells {
		held = append(held, backends.InventoryJob{ID: id, Meta: backends.ShellMeta(p.at, p.backend.Name()), Live: !s.dead})
	}
	p.backend.mu.Lock()
	defer p.backend.mu.Unlock()
	if len(held) > 0 {
		p.backend.released[p.seat()] = held
	}
}

// takeBack gives what a former place of the same session has left behind, once.
func (b *Backend) takeBack(at shellOwner) []backends.InventoryJob {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.released[at]
	delete(b.released, at)
	return held
}
