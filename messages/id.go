package messages

import (
	"fmt"
	"strings"
	"time"
)

// quiet keeps a message out of the dead-letter log, which prints whole
// messages: output and secrets would be in it.
type quiet struct{}

// IgnoreDeadLetterLogging implements the actor library's opt-out.
func (quiet) IgnoreDeadLetterLogging() {}

// JobID names one job to people: short ("j7"), never used again on its node.
type JobID string

// UID is the ULID of a job: it never repeats anywhere, names the job's logs and
// journal records, and is the nonce that makes its start happen once.
type UID string

// valid reports whether a UID is a ULID in its canonical form: 26 characters
// of Crockford's base 32, the first at most 7.
func (u UID) valid() bool {
	if len(u) != 26 || u[0] > '7' {
		return false
	}
	return strings.Trim(string(u), ulidDigits) == ""
}

const ulidDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Made is when a ULID was made, to a millisecond; the zero time if it is none.
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

// SessionID names a session within its scope; the client chooses it.
type SessionID string

// DefaultSession is the implicit session of a scope: parallel, on pipes.
const DefaultSession SessionID = "default"

// ChannelID names a notification channel; a subscriber that comes back with
// the same one resumes.
type ChannelID string

// WaitID names one blocking wait.
type WaitID string

// TaskID names a task that a host announced.
type TaskID string

// Principal is who asks: an opaque name given by the gateway that let it in.
type Principal string

// Seq numbers the facts of a node for ever: monotone, without holes.
type Seq uint64

// ScopePath names a scope by its path from the top: "main/sub-agent-3".
type ScopePath string

// MainScope is the scope of those who name none.
const MainScope ScopePath = "main"

// Bounds of names. A path is walked by actors and shown in tables.
const (
	MaxScopeDepth = 16
	MaxNameLength = 64
)

// Parent is the path of the enclosing scope, "" at the top.
func (p ScopePath) Parent() ScopePath {
	i := strings.LastIndexByte(string(p), '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}

// Names are the elements of the path from the top.
func (p ScopePath) Names() []string { return strings.Split(string(p), "/") }

// Contains reports whether q is p or lies below it: "a" contains "a/b", never "ab".
func (p ScopePath) Contains(q ScopePath) bool {
	return q == p || strings.HasPrefix(string(q), string(p)+"/")
}

// Check reports what is wrong with a path, or nil.
func (p ScopePath) Check() *Error {
	names := p.Names()
	if len(names) > MaxScopeDepth {
		return Invalid("scope", fmt.Sprintf("the scope path has %d elements; at most %d are allowed", len(names), MaxScopeDepth))
	}
	for _, n := range names {
		if !validName(n) {
			return Invalid("scope", fmt.Sprintf("%q is no scope path: use names of letters, digits, '.', '_' and '-', joined by '/'", string(p)))
		}
	}
	return nil
}

// Check reports what is wrong with a session name, or nil.
func (s SessionID) Check() *Error {
	if !validName(string(s)) {
		return Invalid("session", fmt.Sprintf("%q is no session name: use up to %d letters, digits, '.', '_' and '-'", string(s), MaxNameLength))
	}
	return nil
}

// validName admits what is safe in a path, a table and an actor's name.
func validName(n string) bool {
	if n == "" || n == "." || n == ".." || len(n) > MaxNameLength {
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

// Address says which part of the tree a request concerns: a job, or else a
// session of a scope, or else a scope.
type Address struct {
	Job     JobID
	Scope   ScopePath
	Session SessionID
}

// Addressed is a request that concerns a job, session or scope. The supervisor
// routes all of them in one case.
type Addressed interface{ Address() Address }

// Refusable is a request that can be refused by whoever cannot pass it on; the
// refusal belongs to the request's own sealed replies.
type Refusable interface{ Refuse(*Error) any }
