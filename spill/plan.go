package spill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// Sizes that bound a log.
const (
	// InlineLimit is how large a log may grow before it becomes a file. It is the
	// tail window of the largest dialect, so that a view never needs a file
	// the user was not told of.
	InlineLimit = 51_200

	// MaxInlineLimit bounds what a plan may ask for: memory is shared by all logs.
	MaxInlineLimit = 1 << 20

	// DefaultQuota is how many bytes of one log are kept.
	DefaultQuota = 4 << 30

	// ElideHead is how much of the beginning survives under Elide.
	ElideHead = 1 << 20
)

// Policy says what happens when a log reaches its quota.
type Policy string

// The policies.
const (
	Elide    Policy = "elide"     // keep head and tail, take the middle out (the default)
	KeepHead Policy = "keep_head" // keep the first bytes, count the rest
	Pause    Policy = "pause"     // stop reading: the job blocks on its own output
	Kill     Policy = "kill"      // the job is stopped for it
)

// Durability says when the bytes of a log must be safe, and from what.
type Durability string

// The durability classes.
const (
	Memory      Durability = "memory"        // survives the death of the daemon; the default
	OSCrash     Durability = "os-crash"      // a file from the first byte, synced each second or MiB
	FsyncOnExit Durability = "fsync-on-exit" // a file, synced before the exit is reported
)

// Plan is how one log is to be kept. The zero Plan is the default.
type Plan struct {
	Group      string     // the session: names the directory of the file
	Inline     int64      // bytes kept in memory; 0: InlineLimit; negative: a file from byte 0
	Quota      int64      // bytes kept at most; 0: DefaultQuota
	Policy     Policy     // at the quota; "": Elide
	Durability Durability // "": Memory

	// File is the absolute path of the file of the log, which is nobody's but the
	// log's owner's from then on: it must not be there before, it is there from the
	// first moment, and it stays when the log is removed, unless it is empty. It is
	// not made anew if it is deleted. "": a place of the store's choice.
	File string

	// Mark is the absolute path of a file, in a directory of the owner's, in which the
	// store notes what is missing of File, before it goes: Recall knows it by that.
	// "": nobody will call that.
	Mark string
}

// maxID bounds the ids that become file names.
const maxID = 64

// pageSize is the grain in which a file system frees the middle of a file.
const pageSize = 4096

// resolve replaces the defaults of a plan and refuses what makes no sense.
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
		return p, fmt.Errorf("%q is no policy: use elide, keep_head, pause or kill", p.Policy)
	}
	switch p.Durability {
	case "", Memory:
		p.Durability = Memory
	case OSCrash, FsyncOnExit:
		p.Inline = -1
	default:
		return p, fmt.Errorf("%q is no durability: use memory, os-crash or fsync-on-exit", p.Durability)
	}
	if p.File != "" {
		if !filepath.IsAbs(p.File) || filepath.Clean(p.File) != p.File || p.File == "/" {
			return p, fmt.Errorf("%q is no absolute path of a file", p.File)
		}
		p.Inline = -1
	}
	if p.Mark != "" && (p.File == "" || !filepath.IsAbs(p.Mark)) {
		return p, fmt.Errorf("%q is no absolute path of a mark beside a file that was named", p.Mark)
	}
	p.Group = dirName(p.Group)
	return p, nil
}

// head is how much of the beginning survives under Elide.
func (p Plan) head() int64 {
	h := min(ElideHead, p.Quota/4)
	if h >= pageSize {
		h -= h % pageSize
	}
	return h
}

// maxElideStep is how much of the middle goes at a time: often enough that the
// tail stays long, seldom enough that it costs nothing.
const maxElideStep = 16 << 20

// elideStep is how much room one elision makes, and so how many bytes may come
// before the next.
func (p Plan) elideStep() int64 {
	return max(1, min(maxElideStep, (p.Quota-p.head())/4))
}

// fileName is the name of a log's file in the directory of its session.
func fileName(id string, stream uint8) string {
	return id + "." + streamName(stream) + ".log"
}

func streamName(stream uint8) string {
	return [...]string{Merged: "merged", Stdout: "stdout", Stderr: "stderr", orderStream: "order"}[stream]
}

// validID admits what is a file name by itself, whatever follows it.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && strings.Trim(id, letters+"_-") == ""
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// dirName makes a directory name of a session's: plain names stay as they are,
// others lose what is special in them and gain a hash, so that two sessions
// never share one by accident and none leaves the node's directory.
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
