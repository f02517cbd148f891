package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"troupe/backends/engine"
	"troupe/internal/codec"
	"troupe/messages"
	"troupe/spill"
)

// entry is one record of the journal.
type entry struct {
	Kind string       `cbor:"1,keyasint,omitzero"`
	Job  messages.UID `cbor:"2,keyasint,omitzero"`
	At   time.Time    `cbor:"3,keyasint,omitzero"`

	// of opened: the keeper of the following entries
	Keeper string `cbor:"4,keyasint,omitzero"` // its id, which tags its jobs
	BootID string `cbor:"5,keyasint,omitzero"`
	Cgroup string `cbor:"6,keyasint,omitzero"` // directory of its jobs' cgroups; of started: path below it
	After  uint64 `cbor:"7,keyasint,omitzero"` // its facts have higher numbers

	// of limited
	Limits *spill.Limits `cbor:"8,keyasint,omitzero"`

	// of starting and started
	PID       int                `cbor:"9,keyasint,omitzero"`
	StartTime uint64             `cbor:"10,keyasint,omitzero"`
	Isolation messages.Isolation `cbor:"11,keyasint,omitzero"`
	Separate  bool               `cbor:"12,keyasint,omitzero"`
	Meta      []byte             `cbor:"13,keyasint,omitzero"` // of starting and noted

	// of exited and drained
	Status messages.ExitStatus `cbor:"14,keyasint,omitzero"`
	Rusage messages.Rusage     `cbor:"15,keyasint,omitzero"`
	Cause  messages.Cause      `cbor:"16,keyasint,omitzero"`
	Sizes  messages.Sizes      `cbor:"17,keyasint,omitzero"`
	Flags  []messages.Flag     `cbor:"18,keyasint,omitzero"`
	Dir    string              `cbor:"19,keyasint,omitzero"` // directory of a live shell
	OOM    messages.Tristate   `cbor:"20,keyasint,omitzero"`
	Seq    uint64              `cbor:"21,keyasint,omitzero"` // also of settled
	Pipe   []int               `cbor:"22,keyasint,omitzero"` // statuses of a command's last pipeline
}

// Kinds of entries that engine.Record does not have.
const (
	entryOpened  = "opened"
	entryLimited = "limited" // limits of the logs
	entryNoted   = "noted"
	entrySettled = "settled" // up to Seq; forgotten: all
	// entryCollected replaces forgotten in the journal of a single job, which keeps the
	// outcome.
	entryCollected = "collected"
)

func entryOf(r engine.Record) entry {
	return entry{
		Kind: string(r.Kind), Job: r.Job, At: r.At, PID: r.PID, StartTime: r.StartTime, Cgroup: r.Cgroup, Isolation: r.Isolation,
		Status: r.Status, Rusage: r.Rusage, Cause: r.Cause, Sizes: r.Sizes, Flags: r.Flags, Dir: r.Dir, OOM: r.OOM, Seq: r.Seq, Pipe: r.Pipe,
	}
}

const (
	recordHead = 8       // length and CRC of the body
	maxRecord  = 1 << 20 // far above MaxMeta
)

// castagnoli returns the CRC table, made on first use: made at the start of the program
// it would cost every command 0.2 ms.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// appendRecord appends an entry in the file's format.
func appendRecord(p []byte, e entry) ([]byte, error) {
	body, err := codec.Encode(e)
	if err != nil {
		return p, err
	}
	p = binary.LittleEndian.AppendUint32(p, uint32(len(body)))
	p = binary.LittleEndian.AppendUint32(p, crc32.Checksum(body, castagnoli()))
	return append(p, body...), nil
}

// errOtherFormat reports a record whose checksum is right, and which is no entry: another
// version of troupe has written it.
var errOtherFormat = errors.New("it was written by another version of troupe")

// readRecords returns the entries of a journal in order, how many of its bytes are in use, and
// the damaged ranges among them. A damaged record costs no other: its checksum shows the next
// one. What follows the last valid record is a torn tail.
func readRecords(p []byte) (entries []entry, good int, damaged []spill.Gap, err error) {
	for at := 0; len(p)-at >= recordHead; {
		e, size, err := readRecord(p[at:])
		if err != nil {
			return nil, 0, nil, err
		}
		if size == 0 {
			at++
			continue
		}
		if at > good {
			damaged = append(damaged, spill.Gap{From: int64(good), To: int64(at)})
		}
		entries = append(entries, e)
		at += size
		good = at
	}
	return entries, good, damaged, nil
}

// readRecord returns the entry at the beginning of p and the size of its record; 0: there is
// no valid one.
func readRecord(p []byte) (e entry, size int, err error) {
	n := uint64(binary.LittleEndian.Uint32(p))
	body := p[recordHead:]
	if n == 0 || n > maxRecord || n > uint64(len(body)) {
		return e, 0, nil
	}
	body = body[:n]
	if crc32.Checksum(body, castagnoli()) != binary.LittleEndian.Uint32(p[4:]) {
		return e, 0, nil
	}
	if codec.Decode(body, &e) != nil {
		return e, 0, errOtherFormat
	}
	return e, recordHead + int(n), nil
}

// damageText describes the damaged ranges of a journal.
func damageText(damaged []spill.Gap) string {
	return fmt.Sprintf("%d bytes of the keeper's journal are damaged, first at byte %d: what these records say of their jobs is lost, others count", spill.State{Gaps: damaged}.Missing(), damaged[0].From)
}

// journaledJob is the journal's knowledge of one job.
type journaledJob struct {
	started         *entry // or starting: without a process
	exited, drained *entry
	meta            []byte
	settled         uint64
	collected       bool
	lost            bool // an earlier keeper died before the job's end
}

// over reports whether no process of the job runs: its end is known, or it is lost.
func (p *journaledJob) over() bool { return p.exited != nil || p.drained != nil || p.lost }

// journalTable holds the live part of the journal.
type journalTable struct {
	opened  *entry // of the newest keeper; nil: none
	highest uint64 // highest number of a fact
	limits  *spill.Limits
	jobs    map[messages.UID]*journaledJob
}

// tableOf returns the table of a journal's entries.
func tableOf(entries []entry) *journalTable {
	l := &journalTable{jobs: map[messages.UID]*journaledJob{}}
	for _, e := range entries {
		l.note(e)
	}
	return l
}

// note applies an entry. Other entries than the end of a job that did not start are ignored.
func (l *journalTable) note(e entry) {
	l.highest = max(l.highest, e.Seq, e.After)
	if e.Kind == entryOpened {
		l.opened = &e
		for _, p := range l.jobs {
			p.lost = p.lost || p.exited == nil && p.drained == nil
		}
		return
	}
	if e.Kind == entryLimited {
		l.limits = e.Limits
		return
	}
	p := l.jobs[e.Job]
	if p == nil && (e.Kind == string(engine.RecordStarting) || e.Kind == string(engine.RecordStarted)) {
		l.jobs[e.Job] = &journaledJob{started: &e, meta: e.Meta}
		return
	}
	if p == nil && (e.Kind == string(engine.RecordExited) || e.Kind == string(engine.RecordDrained)) {
		p = &journaledJob{started: e.start()}
		l.jobs[e.Job] = p
	}
	if p == nil {
		return
	}
	switch e.Kind {
	case string(engine.RecordStarted):
		if p.started.PID == 0 {
			p.started = &e
		}
	case string(engine.RecordExited):
		p.exited = &e
	case string(engine.RecordDrained):
		p.drained = &e
	case entryNoted:
		p.meta = e.Meta
	case entrySettled:
		p.settled = max(p.settled, e.Seq)
	case entryCollected:
		p.collected = true
	case string(engine.RecordForgotten):
		delete(l.jobs, e.Job)
	}
}

// start returns what the end of a job shows of its start, whose record is damaged.
func (e entry) start() *entry {
	return &entry{
		Kind: string(engine.RecordStarted), Job: e.Job, At: e.At, PID: e.PID, StartTime: e.StartTime,
		Separate: e.Sizes[messages.Stdout]+e.Sizes[messages.Stderr] > 0,
	}
}

// entries returns entries that make the same table. Lost jobs come before the keeper
// that found them lost.
func (l *journalTable) entries() []entry {
	var lost, all []entry
	if l.opened != nil {
		o := *l.opened
		o.After = max(o.After, l.highest)
		all = append(all, o, o) // twice, as openEngine does
	}
	if l.limits != nil {
		all = append(all, entry{Kind: entryLimited, Limits: l.limits})
	}
	for id, p := range l.jobs {
		if p.lost {
			lost = p.entries(lost, id)
		} else {
			all = p.entries(all, id)
		}
	}
	return append(lost, all...)
}

func (p *journaledJob) entries(all []entry, id messages.UID) []entry {
	start := *p.started
	start.Meta = p.meta
	all = append(all, start)
	for _, e := range []*entry{p.exited, p.drained} {
		if e != nil {
			all = append(all, *e)
		}
	}
	if p.settled > 0 {
		all = append(all, entry{Kind: entrySettled, Job: id, Seq: p.settled})
	}
	if p.collected {
		all = append(all, entry{Kind: entryCollected, Job: id})
	}
	return all
}
