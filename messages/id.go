package messages

import (
	"fmt"
	"strings"
	"time"
)

// quiet keeps a message out of the dead-letter log of the actor library. That log prints
// whole messages, with their output and secrets.
type quiet struct{}

// IgnoreDeadLetterLogging tells the actor library not to log the message.
func (quiet) IgnoreDeadLetterLogging() {}

// JobID is the short name of a job, such as "j7". A node uses each one once.
type JobID string

// UID is the ULID of a job, unique everywhere. It names the job's logs and journal
// records, and an engine starts a job only once for it.
type UID string

// valid reports whether u is a canonical ULID: 26 digits of Crockford's base 32, the
// first at most 7.
func (u UID) valid() bool {
	if len(u) != 26 || u[0] > '7' {
		return false
	}
	return strings.Trim(string(u), ulidDigits) == ""
}

const ulidDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Made returns the time of a ULID, to a millisecond, or the zero time for any other text.
func (u UID) Made() time.Time {
	if !u.valid() {
		return time.Time{}
	}
	var ms int64
	for _, digit := range u[:10] {
		ms = ms<<5 | int64(strings.IndexRune(ulidDigits, digit))
	}
	return time.UnixMilli(ms)
}

// SessionID names a session within its scope. The client chooses it.
type SessionID string

// DefaultSession is the implicit session of a scope: parallel, on pipes.
const DefaultSession SessionID = "default"

// ChannelID names a channel of facts. A subscriber that gives it again resumes.
type ChannelID string

// TaskID names a task that a host has announced.
type TaskID string

// Principal names the owner of a request. The gateway that accepted the request sets it.
type Principal string

// Seq numbers the facts of a node: increasing, without gaps.
type Seq uint64

// ScopePath names a scope by its path from the top: "main/sub-agent-3".
type ScopePath string

// MainScope is the scope of a request that names none.
const MainScope ScopePath = "main"

// Bounds of names: actors route by a path, and tables show it.
const (
	MaxScopeDepth = 16 // elements of a path
	MaxNameLength = 64 // bytes of a name
)

// Parent returns the path of the enclosing scope, "" at the top.
func (p ScopePath) Parent() ScopePath {
	i := strings.LastIndexByte(string(p), '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}

// Names returns the elements of the path from the top.
func (p ScopePath) Names() []string { return strings.Split(string(p), "/") }

// Contains reports whether q is p or below it: "a" contains "a/b", not "ab".
func (p ScopePath) Contains(q ScopePath) bool {
	return q == p || strings.HasPrefix(string(q), string(p)+"/")
}

// Check returns what is wrong with a path, or nil.
func (p ScopePath) Check() *Error {
	names := p.Names()
	if len(names) > MaxScopeDepth {
		return Invalid("scope", fmt.Sprintf("the scope path has %d elements; at most %d are allowed", len(names), MaxScopeDepth))
	}
	for _, n := range names {
		if !validName(n) {
			return Invalid("scope", fmt.Sprintf("invalid scope path %q: use names of letters, digits, '.', '_' and '-' (not at the beginning), joined by '/'", string(p)))
		}
	}
	return nil
}

// Check returns what is wrong with a session name, or nil.
func (s SessionID) Check() *Error {
	if !validName(string(s)) {
		return Invalid("session", fmt.Sprintf("invalid session name %q: use up to %d letters, digits, '.', '_' and '-' (not at the beginning)", string(s), MaxNameLength))
	}
	return nil
}

// validName reports whether n is safe in a path, a table, the name of an actor, and as an
// argument, where a '-' would begin a flag.
func validName(n string) bool {
	if n == "" || n == "." || n == ".." || n[0] == '-' || len(n) > MaxNameLength {
		return false
	}
	for _, r := range n {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		default:
			return false
		}
	}
	return true
}

// Address is the part of the tree that a request concerns: a job, or else a session of a
// scope, or else a scope.
type Address struct {
	Job     JobID
	Scope   ScopePath
	Session SessionID
}

// Addressed is a request that concerns a job, session or scope. The supervisor routes by
// its Address.
type Addressed interface{ Address() Address }

// Refusable is a request that an actor can refuse if it cannot pass it on. Refuse returns
// the refusal, one of the request's sealed replies.
type Refusable interface{ Refuse(*Error) any }
