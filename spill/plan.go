package spill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// Default sizes and bounds of a log.
const (
	// InlineLimit is the largest size of a log in memory by default. It is the tail
	// window of the largest dialect, so a view of that size never names a file.
	InlineLimit = 51_200

	// MaxInlineLimit bounds Plan.Inline, since all logs share the memory of the store.
	MaxInlineLimit = 1 << 20

	// DefaultQuota is the number of bytes that are kept of one log by default.
	DefaultQuota = 4 << 30

	// ElideHead bounds the beginning of a log that Elide keeps.
	ElideHead = 1 << 20
)

// Policy decides what happens when a log reaches its quota.
type Policy string

// The policies.
const (
	Elide    Policy = "elide"     // keep head and tail, drop the middle (the default)
	KeepHead Policy = "keep_head" // keep the first bytes, count the rest
	Pause    Policy = "pause"     // stop reading: the job blocks when its pipe is full
	Kill     Policy = "kill"      // report ErrQuota, for which the job is stopped
)

// Durability decides which failures the bytes of a log survive.
type Durability string

// The durability classes.
const (
	Memory      Durability = "memory"        // a crash of the daemon; the default
	OSCrash     Durability = "os-crash"      // also a crash of the machine: a file from the first byte, synced each second or MiB
	FsyncOnExit Durability = "fsync-on-exit" // a file from the first byte, synced before the exit is reported
)

// Plan describes how a store keeps one log. The zero Plan is the default.
type Plan struct {
	Group      string     `cbor:"1,keyasint,omitzero"` // session, which names the directory of the file
	Inline     int64      `cbor:"2,keyasint,omitzero"` // largest size in memory; 0: InlineLimit; negative: a file from byte 0
	Quota      int64      `cbor:"3,keyasint,omitzero"` // largest number of bytes that are kept; 0: DefaultQuota
	Policy     Policy     `cbor:"4,keyasint,omitzero"` // what happens at the quota; "": Elide
	Durability Durability `cbor:"5,keyasint,omitzero"` // "": Memory

	// File is the absolute path of the log's file. Create makes it and fails if it
	// exists. Only the store may write to it; other programs may truncate or rename it. A
	// renamed one is created again, a deleted one is not. Removing the log leaves it, unless it is empty. "": the store chooses a place.
	File string `cbor:"6,keyasint,omitzero"`

	// Mark is the absolute path of the gap file of File, in a directory of the user's
	// own. The store records a gap there before the bytes go, for Reclaim. "": it
	// records none, since no store will reclaim File.
	Mark string `cbor:"7,keyasint,omitzero"`
}

// maxID is the largest length of an id, which becomes part of a file name.
const maxID = 64

// pageSize is the unit in which a file system frees a range within a file.
const pageSize = 4096

// resolve fills in the defaults of a plan and rejects invalid fields.
func (p Plan) resolve() (Plan, error) {
	switch {
	case p.Inline == 0:
		p.Inline = InlineLimit
	case p.Inline > MaxInlineLimit:
		p.Inline = MaxInlineLimit
	}
	switch {
	case p.Quota == 0:
		p.Quota = DefaultQuota
	case p.Quota < 0:
		return p, fmt.Errorf("the quota of a log is negative: %d bytes", p.Quota)
	}
	switch p.Policy {
	case "":
		p.Policy = Elide
	case Elide, KeepHead, Pause, Kill:
	default:
		return p, fmt.Errorf("invalid policy %q: use elide, keep_head, pause or kill", p.Policy)
	}
	switch p.Durability {
	case "", Memory:
		p.Durability = Memory
	case OSCrash, FsyncOnExit:
		p.Inline = -1
	default:
		return p, fmt.Errorf("invalid durability %q: use memory, os-crash or fsync-on-exit", p.Durability)
	}
	if p.File != "" {
		if !filepath.IsAbs(p.File) || filepath.Clean(p.File) != p.File || p.File == "/" {
			return p, fmt.Errorf("invalid file %q of a log: use a clean absolute path", p.File)
		}
		p.Inline = -1
	}
	if p.Mark != "" && (p.File == "" || !filepath.IsAbs(p.Mark)) {
		return p, fmt.Errorf("invalid mark %q of a log: use an absolute path, and set the file too", p.Mark)
	}
	p.Group = dirName(p.Group)
	return p, nil
}

// head returns the number of bytes at the beginning that Elide keeps.
func (p Plan) head() int64 {
	h := min(ElideHead, p.Quota/4)
	if h >= pageSize {
		h -= h % pageSize
	}
	return h
}

// maxElideStep bounds one elision. Smaller steps keep a longer tail, larger ones need
// fewer system calls.
const maxElideStep = 16 << 20

// elideStep returns the number of bytes that one elision frees, and so how many may
// come before the next.
func (p Plan) elideStep() int64 {
	return max(1, min(maxElideStep, (p.Quota-p.head())/4))
}

// fileName returns the name of a log's file in the directory of its session.
func fileName(id string, stream uint8) string {
	return id + "." + streamName(stream) + ".log"
}

func streamName(stream uint8) string {
	return [...]string{Merged: "merged", Stdout: "stdout", Stderr: "stderr", orderStream: "order"}[stream]
}

// validID reports whether an id is safe as the beginning of a file name.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && strings.Trim(id, letters+"_-") == ""
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// dirName returns the directory name of a session. Plain names stay. In others "_"
// replaces special characters, and a hash is added, so that two sessions never share a
// directory and none leaves the node's directory.
func dirName(group string) string {
	if group == "" {
		return "default"
	}
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune(letters+"._-", r) {
			return r
		}
		return '_'
	}, group)
	if plain == group && len(group) <= maxID && group[0] != '.' {
		return group
	}
	sum := sha256.Sum256([]byte(group))
	return "_" + plain[:min(len(plain), maxID-18)] + "-" + hex.EncodeToString(sum[:8])
}
