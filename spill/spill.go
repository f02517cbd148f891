// Package spill is where the output of a job lives. An output is a log: bytes
// in the order they were written, addressed by offsets that never change. A log
// begins in memory (a memfd) and moves to a file when it outgrows its inline
// limit; no byte of it passes through user memory on the way in.
//
// One Writer fills a log; any number of Logs read it. The size of the log is
// the offset of its next byte: there is no second number that could disagree.
// Bytes that a quota took away are gaps, counted and told, never silence.
//
// The package imports nothing of ours, so that the keeper can use it alone.
package spill

import (
	"errors"
	"io"
)

// The streams of a job. Merged is stdout and stderr in one pipe, in true order.
const (
	Merged uint8 = iota
	Stdout
	Stderr
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

// Flags say what befell a log from outside.
type Flags uint8

// The flags. They stay once they are set.
const (
	Unlinked Flags = 1 << iota // its file was deleted; it was made anew where it could be
	Tampered                   // its file was truncated or changed
)

// Has reports whether all of g are set.
func (f Flags) Has(g Flags) bool { return f&g == g }

// State is what is known of a log at one instant.
type State struct {
	Size   int64  // bytes written so far = offset of the next byte; gaps count
	Closed bool   // sealed: no writer is left, the size is final
	File   string // path of the file; "" while the log is in memory, or its file is lost
	Gaps   []Gap  // what was not kept, in order, apart from one another
	Flags  Flags  // what befell its file
	Veiled bool   // its file may have more bytes than Size, which are not to be shown; see Fenced
}

// Name is what a store knows a log by.
type Name struct {
	ID     string
	Stream uint8
}

// Missing is how many bytes were not kept.
func (s State) Missing() int64 {
	var n int64
	for _, g := range s.Gaps {
		n += g.Len()
	}
	return n
}

// Log reads an output, from any goroutine. Elided ranges read as zeros: ask State
// for the gaps, after the read, since a gap may open beneath it. ReadAt returns
// io.EOF at the current size, whether or not more will come.
type Log interface {
	io.ReaderAt
	State() State
	Close() error
}

// Store keeps the logs of a node, by the ULID of the job.
type Store interface {
	Create(id string, stream uint8, p Plan) (Writer, error)
	// Open gives a reader; the log may be live or sealed. Close it.
	Open(id string, stream uint8) (Log, error)
	// Remove forgets a log and frees its bytes. Open readers stay valid.
	Remove(id string) error
}

// Blocked says that the store cannot take bytes now (ENOSPC, EROFS, EIO, …).
// Nothing is lost: they stay where they were. It is cleared by a later success.
type Blocked struct{ Err error }

func (b *Blocked) Error() string { return "the output log cannot grow: " + b.Err.Error() }

func (b *Blocked) Unwrap() error { return b.Err }

// The errors a caller may test for.
var (
	ErrPaused   = errors.New("the log has reached its quota and takes no more bytes")
	ErrQuota    = errors.New("the log has reached its quota and the job is to be stopped")
	ErrNotFound = errors.New("there is no such log")
	ErrExists   = errors.New("there is already a log of that id and stream")
	ErrSealed   = errors.New("the log is sealed")
	ErrClosed   = errors.New("the store is closed")
)
