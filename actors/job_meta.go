package actors

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"troupe/backends"
	"troupe/internal/codec"
	"troupe/messages"
)

// jobMeta is the metadata that the engine stores with a job for a restart, in CBOR: parts of its
// record and request that the journal may not have in time, and that the engine's facts do not
// carry. No variable of an environment is among them.
type jobMeta struct {
	// Job has as Seq the number of its last fact at the last placement, higher after a hand-over.
	Job    messages.Record       `cbor:"1,keyasint,omitzero"`
	Run    messages.RunCommand   `cbor:"2,keyasint,omitzero"` // what the record does not have
	Place  messages.SessionPlan  `cbor:"3,keyasint,omitzero"` // of its session
	Quotas []messages.ScopeQuota `cbor:"4,keyasint,omitzero"` // of the scopes above the job, the top one first

	Owed     bool   `cbor:"5,keyasint,omitzero"` // a client waits for the end; its terminal shows the job if Run.Shown
	Answered int64  `cbor:"6,keyasint,omitzero"` // see lifecycle.Terminal
	Digest   string `cbor:"7,keyasint,omitzero"` // of the request with Run.Key
}

// previewLength bounds the stored bytes of a command's text: enough to recognise the job in a
// list.
const previewLength = 512

// metaEncoder encodes the metadata of one job. Its fields are those that the record lacks.
type metaEncoder struct {
	at       messages.SessionPlan // without an environment
	keep     *recoveryMeta        // nil: there is none
	terms    *jobOptions
	answered int64 // of its terminal, by this actor
}

// of encodes the metadata of a job, at most backends.MaxMeta bytes. If it is too long, it drops
// what only users read first.
func (s *metaEncoder) of(job *messages.Record) []byte {
	keep := cmp.Or(s.keep, &recoveryMeta{})
	m := jobMeta{
		Job: messages.Record{
			ID: job.ID, Scope: job.Scope, Session: job.Session, Labels: job.Labels, Command: cut(job.Command, previewLength), Mode: job.Mode,
			Background: job.Background && !keep.left, Timeout: job.Timeout, Deadline: job.Deadline, Dir: job.Dir, Created: job.Created, Terminal: job.Terminal, StopSignal: job.StopSignal, Seq: job.Seq,
		},
		Run:   messages.RunCommand{Key: keep.key, PromoteAfter: cmp.Or(keep.budget, s.terms.promoteAfter), Grace: s.terms.grace, OnExit: s.terms.onExit},
		Place: s.at, Quotas: keep.quotas, Owed: keep.owed, Answered: s.answered, Digest: keep.digest,
	}
	m.Job.Description, m.Run.Shown = cut(job.Description, previewLength), s.terms.shown
	if job.HasFlag(messages.FlagKept) {
		m.Job.Flags = []messages.Flag{messages.FlagKept}
	}
	for _, o := range job.Output {
		m.Job.Output = append(m.Job.Output, messages.StreamOutput{Stream: o.Stream})
	}
	for _, n := range job.OnFinish {
		m.Run.OnFinish = append(m.Run.OnFinish, n.To)
	}
	if job.Request != nil { // of a job that is older, nothing is known
		m.Job.Argv, m.Job.Request = job.Argv, job.Request
		if m.Job.Command != job.Command { // a rerun would run a part of it
			m.Job.Argv, m.Job.Request = nil, partly(job)
		}
	}
	for _, spare := range []func(){
		func() {},
		func() { m.Job.Argv, m.Job.Request = nil, partly(job) },
		func() { m.Job.Description, m.Job.Command = "", cut(m.Job.Command, previewLength/8) },
		func() { m.Job.Tag, m.Job.Dir, m.Place.Dir = "", "", "" },
		func() { m.Place.Limits = messages.Limits{} },
		func() { m.Run.Key, m.Digest, m.Quotas, m.Job.Command, m.Run.OnFinish = "", "", nil, "", nil },
		func() {
			j := m.Job
			m = jobMeta{Run: messages.RunCommand{Grace: m.Run.Grace}, Answered: m.Answered}
			m.Job = messages.Record{ID: j.ID, Mode: j.Mode, Background: j.Background, Flags: j.Flags, Created: j.Created, Terminal: j.Terminal}
		},
	} {
		spare()
		if b, err := codec.Encode(m); err == nil && len(b) <= backends.MaxMeta {
			return b
		}
	}
	return nil // the job can still be adopted by its id
}

// decodeJobMeta decodes metadata. It returns nil for other bytes.
func decodeJobMeta(b []byte) *jobMeta {
	var m jobMeta
	if err := codec.Decode(b, &m); err != nil || m.Job.ID == "" {
		return nil
	}
	return &m
}

// JobOfMeta returns what the metadata of a job (backends.Spec.Meta) tells of its record; false for
// other bytes, as those of a live shell.
func JobOfMeta(b []byte) (messages.Record, bool) {
	m := decodeJobMeta(b)
	if m == nil {
		return messages.Record{}, false
	}
	return m.Job, true
}

// job returns the record that the metadata describes.
func (m *jobMeta) job(uid messages.UID) messages.Record {
	job := m.Job
	job.UID, job.Backend, job.State, job.Seq = uid, m.Place.Backend, messages.Starting, 0
	job.OnFinish = messages.Notices(m.Run.OnFinish)
	if job.Request == nil {
		job.Request = &messages.RequestTerms{Partial: true}
	}
	if len(job.Output) == 0 {
		job.Output = []messages.StreamOutput{{Stream: messages.Merged}}
	}
	return job
}

// partly returns what remains to be known of the request of a job whose command is not whole.
func partly(job *messages.Record) *messages.RequestTerms {
	return &messages.RequestTerms{Partial: true, IdleTimeout: job.IdleTimeout(), RerunOf: job.RerunOf()}
}

// keeps adds FlagKept to a record if the job is kept.
func (m *jobMeta) keeps(job *messages.Record) {
	if m.Job.HasFlag(messages.FlagKept) && !job.HasFlag(messages.FlagKept) {
		job.Flags = append(slices.Clip(job.Flags), messages.FlagKept)
	}
}

// terms returns the options of the job.
func (m *jobMeta) terms(job messages.Record) *jobOptions {
	return &jobOptions{
		background: m.Job.Background || m.Job.Mode.Background(),
		named:      job.Dir != "", promoteAfter: m.Run.PromoteAfter, grace: m.Run.Grace, onExit: m.Run.OnExit,
	}
}

// cut returns at most n bytes of s, and no part of a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
