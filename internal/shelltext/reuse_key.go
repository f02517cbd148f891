package shelltext

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// ReuseKey is what two calls must have in common to run in the same live shell.
type ReuseKey struct {
	Shell    string   // its path
	Prefix   string   // of commands
	Snapshot string   // path of the snapshot it was started with; "": none
	Env      []string // "K=V" of the shell, in any order; the last of a name counts
	Session  string   // SessionKey, JobKey, or "": shared by all that do not say
	Options  []string // what else sets shells apart, as those of the minimiser; in any order
}

// Digest is the same for equal keys, in every process and version, and for keys that are
// not equal another. It does not show the values, which may be secrets.
func (k ReuseKey) Digest() string {
	env := Overlay(nil, k.Env)
	slices.Sort(env)
	options := slices.Sorted(slices.Values(k.Options))
	hash := sha256.New()
	part := func(s string) { // with its length: no two lists of parts read the same
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

// SessionKey is the Session of a tool call's key.
func SessionKey(session string) string { return session }

// JobKey is that of a background job: it never shares a shell with the foreground of its
// session, nor with another job.
func JobKey(session, job string) string { return strings.Join([]string{session, "async", job}, ":") }
