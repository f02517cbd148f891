package keeper

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"time"

	"troupe/backends/engine"
	"troupe/messages"
	"troupe/spill"
)

// entry is one record of the journal.
type entry struct {
	Kind string       `json:"k"`
	Job  messages.UID `json:"j,omitempty"`
	At   time.Time    `json:"t,omitzero"`

	// of opened: the keeper that writes what follows
	Keeper string `json:"keeper,omitempty"` // its id, which tags its jobs
	BootID string `json:"boot,omitempty"`
	Cgroup string `json:"cgroup,omitempty"` // the directory of its jobs' cgroups; of started: below it
	After  uint64 `json:"after,omitempty"`  // its facts are numbered from here

	// of limited
	Limits *spill.Limits `json:"limits,omitempty"`

	// of started
	PID       int                `json:"pid,omitempty"`
	StartTime uint64             `json:"start,omitempty"`
	Isolation messages.Isolation `json:"iso,omitempty"`
	Separate  bool               `json:"sep,omitempty"`
	Meta      []byte             `json:"meta,omitempty"` // and of noted

	// of exited and drained
	Status messages.ExitStatus `json:"status,omitzero"`
	Rusage messages.Rusage     `json:"usage,omitzero"`
	Cause  messages.Cause      `json:"cause,omitzero"`
	Sizes  messages.Sizes      `json:"sizes,omitzero"`
	Flags  []messages.Flag     `json:"flags,omitempty"`
	Dir    string              `json:"dir,omitempty"` // where a live shell was
	OOM    messages.Tristate   `json:"oom,omitempty"`
	Seq    uint64              `json:"seq,omitempty"` // and of settled
}

// The kinds of entries beside those of engine.Record.
const (
	entryOpened  = "opened"
	entryLimited = "limited" // what bounds the logs
	entryNoted   = "noted"
	entrySettled = "settled" // up to Seq; forgotten: all
	// entryCollected is in place of forgotten where the directory is one job's, and
	// keeps what became of it.
	entryCollected = "collected"
)

func entryOf(r engine.Record) entry {
	return entry{
		Kind: string(r.Kind), Job: r.Job, At: r.At, PID: r.PID, StartTime: r.StartTime, Cgroup: r.Cgroup, Isolation: r.Isolation,
		Status: r.Status, Rusage: r.Rusage, Cause: r.Cause, Sizes: r.Sizes, Flags: r.Flags, Dir: r.Dir, OOM: r.OOM, Seq: r.Seq,
	}
}

const (
	recordHead = 8       // length and CRC of what follows
	maxRecord  = 1 << 20 // far above MaxMeta
)

// castagnoli is made by the library, once, when it is first asked for: at the start of
// the program every command that a user types would wait 0.2 ms for it.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// appendRecord adds an entry as it stands in the file.
func appendRecord(p []byte, e entry) ([]byte, error) {
	at := len(p)
	p, err := appendBody(append(p, make([]byte, recordHead)...), e)
	if err != nil {
		return p[:at], err
	}
	body := p[at+recordHead:]
	binary.LittleEndian.PutUint32(p[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(p[at+4:], crc32.Checksum(body, castagnoli()))
	return p, nil
}

// readEntry reads the body of a record. The first keepers wrote JSON.
func readEntry(body []byte) (e entry, err error) {
	if body[0] == '{' && json.Unmarshal(body, &e) == nil {
		return e, nil
	}
	return decode[entry](body)
}

// readRecords gives the entries of a journal in their order, and how many bytes
// of it are good: a torn or damaged record and what is behind it are not.
func readRecords(p []byte) (entries []entry, good int) {
	for len(p)-good >= recordHead {
		n := uint64(binary.LittleEndian.Uint32(p[good:]))
		body := p[good+recordHead:]
		if n == 0 || n > maxRecord || n > uint64(len(body)) {
			break
		}
		body = body[:n]
		if crc32.Checksum(body, castagnoli()) != binary.LittleEndian.Uint32(p[good+4:]) {
			break
		}
		e, err := readEntry(body)
		if err != nil {
			break
		}
		entries = append(entries, e)
		good += recordHead + int(n)
	}
	return entries, good
}

// journaledJob is what the journal knows of one job.
type journaledJob struct {
	started, exited, drained *entry
	meta                     []byte
	settled                  uint64
	collected                bool
	lost                     bool // the keeper of an earlier time died before the end
}

// over reports whether nothing of the job lives: its end is known, or never will be.
func (p *journaledJob) over() bool { return p.exited != nil || p.lost }

// journalTable is the journal as a table: what of it still counts.
type journalTable struct {
	opened  *entry // of the newest keeper; nil: there was none
	highest uint64 // number of a fact
	limits  *spill.Limits
	jobs    map[messages.UID]*journaledJob
}

func newLedger() *journalTable { return &journalTable{jobs: map[messages.UID]*journaledJob{}} }

// note takes an entry in. One of a job that did not start counts for nothing.
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
	if e.Kind == string(engine.RecordStarted) && p == nil {
		l.jobs[e.Job] = &journaledJob{started: &e, meta: e.Meta}
		return
	}
	if p == nil {
		return
	}
	switch e.Kind {
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

// entries are those that make the same table: what was lost stands before the keeper
// that found it.
func (l *journalTable) entries() []entry {
	var lost, all []entry
	if l.opened != nil {
		o := *l.opened
		o.After = max(o.After, l.highest)
		all = append(all, o)
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
