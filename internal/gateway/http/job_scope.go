package http

import (
	"strings"

	"troupe/messages"
)

// A process of a job in a leased scope may use the server for that scope alone (decision
// 061). Otherwise a command of one agent could end the jobs of all others: by troupe stop
// in a script, or by troupe shutdown at its end.

// jobOrigin is the job whose tree the process of a connection belongs to.
type jobOrigin struct {
	uid   messages.UID       // "": not known
	scope messages.ScopePath // in which the job, or its live shell, was started; "": not known
	is    bool               // it belongs to a job
}

// origin returns the job of a client's process.
func (g *admission) origin(pid int) (o jobOrigin) {
	if find := g.server.options.JobOf; find != nil && !g.token {
		o.uid, o.scope, o.is = find(pid)
	}
	return o
}

// confine limits a request to the leased scope of the job that sent it.
func (c *request) confine() *messages.Error {
	c.mu.Lock()
	leases := len(c.tenancies)
	c.mu.Unlock()
	if leases == 0 {
		return nil
	}
	from := c.door().origin()
	if !from.is {
		return nil
	}
	scope := from.scope
	if from.uid != "" { // a job may have been handed over; that of a live shell is not listed
		if found, err := ask(c, messages.FindJob{Job: messages.JobID(from.uid)}); err == nil {
			scope = found.Job.Scope
		}
	}
	if scope == "" {
		return refused("scope", "this process belongs to a job of this daemon, and its job is not known", "keep the variable TROUPE_TREE in its environment, and the process alive")
	}
	c.root = c.leasedAbove(scope)
	return nil
}

// leasedAbove returns the nearest leased scope at or above a path, "" without one.
func (c *request) leasedAbove(path messages.ScopePath) messages.ScopePath {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; path != ""; path = path.Parent() {
		if c.tenancies[path] != nil {
			return path
		}
	}
	return ""
}

// inScope returns the scope that a request means. A client of one scope means that scope if
// it names none, and gets an error for one outside of it.
func (c *request) inScope(path messages.ScopePath) (messages.ScopePath, *messages.Error) {
	switch {
	case c.root == "" || c.root.Contains(path):
		return path, nil
	case path == "":
		return c.root, nil
	}
	return path, c.outside("use scope " + string(path))
}

// outside returns the refusal of what concerns other scopes.
func (c *request) outside(deed string) *messages.Error {
	return refused("scope", "this process belongs to a job of scope "+string(c.root)+", which a client leases, and may not "+deed, "do it outside of that job")
}

// job returns a job's name within the scope of the request.
func (c *request) job(id messages.JobID) messages.JobID {
	i := strings.LastIndexByte(string(id), '/')
	if c.root == "" || i > 0 && c.root.Contains(messages.ScopePath(id[:i])) {
		return id
	}
	return messages.JobID(string(c.root) + "/" + string(id))
}
