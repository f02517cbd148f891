package shell

import (
	"troupe/backends"
	"troupe/messages"
)

// shellOwner identifies the session of a live shell.
type shellOwner struct {
	scope   messages.ScopePath
	session messages.SessionID
}

func (p *executor) owner() shellOwner { return shellOwner{p.at.Scope, p.at.Session} }

// keepReleased stores the shells of a released executor for its successor. The caller
// holds mu.
func (p *executor) keepReleased() {
	var held []backends.InventoryJob
	for id, s := range p.shells {
		held = append(held, backends.InventoryJob{ID: id, Meta: backends.ShellMeta(p.at, p.backend.Name()), Live: !s.dead})
	}
	p.backend.mu.Lock()
	defer p.backend.mu.Unlock()
	if len(held) > 0 {
		p.backend.released[p.owner()] = held
	}
}

// takeReleased returns the shells that a former executor of the session left, once.
func (b *Backend) takeReleased(at shellOwner) []backends.InventoryJob {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.released[at]
	delete(b.released, at)
	return held
}
