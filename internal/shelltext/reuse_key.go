package shelltext

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// ReuseKey is what two calls must share to run in the same live shell.
type ReuseKey struct {
	Shell    string   // path
	Prefix   string   // prefix of commands
	Snapshot string   // path of its snapshot; "": none
	Env      []string // "K=V" of the shell, in any order; the last of a name counts
	Session  string   // SessionKey, JobKey, or "": shared by all without one
	Options  []string // other settings of a shell, such as the minimiser's, in any order
}

// Digest returns a hash of the key that is stable across processes and versions. It
// does not reveal the values, which may be secrets.
func (k ReuseKey) Digest() string {
	env := Overlay(nil, k.Env)
	slices.Sort(env)
	options := slices.Sorted(slices.Values(k.Options))
	hash := sha256.New()
	part := func(s string) { // the length keeps different lists of parts apart
		_, _ = hash.Write(binary.AppendUvarint(nil, uint64(len(s))))
		_, _ = hash.Write([]byte(s))
	}
	for _, s := range []string{"troupe shell 1", k.Shell, k.Prefix, k.Snapshot, k.Session} {
		part(s)
	}
	for _, list := range [][]string{env, slices.Compact(options)} {
		_, _ = hash.Write(binary.AppendUvarint(nil, uint64(len(list))))
		for _, s := range list {
			part(s)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// SessionKey returns the Session of a tool call's key.
func SessionKey(session string) string { return session }

// JobKey returns the Session of a background job's key. The job shares no shell with
// the foreground of its session or with another job.
func JobKey(session, job string) string { return strings.Join([]string{session, "async", job}, ":") }
