package actors

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// jobMetaVersion is the version of the format. It is raised when a field changes its meaning.
// Older versions skip new fields.
const jobMetaVersion = 1

// jobMeta is the metadata that the engine stores with a job for a restart. The journal may not
// have it in time, and the engine's facts do not carry it.
type jobMeta struct {
	V       int                `json:"v"`
	Job     messages.JobID     `json:"job"`
	Seq     messages.Seq       `json:"seq,omitempty"` // of its last fact at the last placement; higher after a hand-over
	Scope   messages.ScopePath `json:"scope"`
	Session messages.SessionID `json:"session"`
	Place   sessionMeta        `json:"place"`
	// Quotas are of the scopes above the job, the top one first.
	Quotas []messages.ScopeQuota `json:"quotas,omitempty"`

	Principal   messages.Principal `json:"principal,omitempty"`
	Tag         string             `json:"tag,omitempty"`
	Name        string             `json:"name,omitempty"`
	Description string             `json:"description,omitempty"`
	Preview     string             `json:"preview"`
	Mode        messages.Mode      `json:"mode"`
	Separate    bool               `json:"separate,omitempty"`
	Background  bool               `json:"background,omitempty"`
	Kept        bool               `json:"kept,omitempty"`  // messages.FlagKept
	Owed        bool               `json:"owed,omitempty"`  // a client waits for the end
	Shown       bool               `json:"shown,omitempty"` // and its terminal shows the job
	Created     time.Time          `json:"created"`
	Deadline    time.Time          `json:"deadline,omitzero"`
	Dir         string             `json:"dir,omitempty"`

	Timeout      time.Duration   `json:"timeout,omitempty"`
	PromoteAfter time.Duration   `json:"promote,omitempty"`
	Grace        time.Duration   `json:"grace,omitempty"`
	OnExit       messages.OnExit `json:"exit,omitempty"`

	OnFinish []string `json:"finish,omitempty"`

	Terminal messages.Terminal `json:"terminal,omitzero"`
	Answered int64             `json:"answered,omitempty"` // see lifecycle.Terminal

	Key    string `json:"key,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// sessionMeta is the plan of the job's session.
type sessionMeta struct {
	Backend  string            `json:"backend,omitempty"`
	Dir      string            `json:"dir,omitempty"`
	Shell    string            `json:"shell,omitempty"`
	Terminal messages.Terminal `json:"terminal,omitzero"`
	Umask    string            `json:"umask,omitempty"`
	Limits   messages.Limits   `json:"limits,omitzero"`
}

// plan returns the plan of the session, without its environment.
func (m sessionMeta) plan() messages.SessionPlan {
	return messages.SessionPlan{Backend: m.Backend, Dir: m.Dir, Shell: m.Shell, Terminal: m.Terminal, Umask: m.Umask, Limits: m.Limits}
}

// previewLength bounds the stored bytes of a command's text: enough to recognise the job in a
// list.
const previewLength = 512

// metaEncoder encodes the metadata of one job. Its fields are those that the record lacks.
type metaEncoder struct {
	at       sessionMeta
	keep     *recoveryMeta // nil: there is none
	terms    *jobOptions
	answered int64 // of its terminal, by this actor
}

// of encodes the metadata of a job, at most backends.MaxMeta bytes. If it is too long, it drops
// what only users read first.
func (s *metaEncoder) of(job *messages.Record) []byte {
	keep := cmp.Or(s.keep, &recoveryMeta{})
	m := jobMeta{
		V: jobMetaVersion, Place: s.at, Quotas: keep.quotas, Owed: keep.owed, Shown: s.terms.shown, Key: keep.key, Digest: keep.digest,
		PromoteAfter: cmp.Or(keep.budget, s.terms.promoteAfter), Grace: s.terms.grace, OnExit: s.terms.onExit, Answered: s.answered,
	}
	m.Job, m.Scope, m.Session, m.Principal, m.Tag, m.Name = job.ID, job.Scope, job.Session, job.Principal, job.Tag, job.Name
	m.Mode, m.Background, m.Created, m.Deadline, m.Timeout = job.Mode, job.Background && !keep.left, job.Created, job.Deadline, job.Timeout
	m.Seq, m.Separate, m.Dir, m.Terminal, m.Kept = job.Seq, len(job.Output) > 1, job.Dir, job.Terminal, job.HasFlag(messages.FlagKept)
	for _, n := range job.OnFinish {
		m.OnFinish = append(m.OnFinish, n.To)
	}
	m.Description, m.Preview = cut(job.Description, previewLength), cut(job.Command, previewLength)
	for _, spare := range []func(){
		func() {},
		func() { m.Description, m.Preview = "", cut(m.Preview, previewLength/8) },
		func() { m.Tag, m.Dir, m.Place.Dir = "", "", "" },
		func() { m.Key, m.Digest, m.Quotas, m.Preview, m.OnFinish = "", "", nil, "", nil },
		func() {
			m = jobMeta{V: m.V, Job: m.Job, Mode: m.Mode, Background: m.Background, Kept: m.Kept, Created: m.Created, Grace: m.Grace, Terminal: m.Terminal, Answered: m.Answered}
		},
	} {
		spare()
		if b, err := json.Marshal(m); err == nil && len(b) <= backends.MaxMeta {
			return b
		}
	}
	return nil // the job can still be adopted by its id
}

// decodeJobMeta decodes metadata. It returns nil for other bytes.
func decodeJobMeta(b []byte) *jobMeta {
	var m jobMeta
	if err := json.Unmarshal(b, &m); err != nil || m.V < 1 || m.Job == "" {
		return nil
	}
	return &m
}

// job returns the record that the metadata describes.
func (m *jobMeta) job(uid messages.UID) messages.Record {
	job := messages.Record{
		ID: m.Job, UID: uid, Scope: m.Scope, Session: m.Session, Labels: messages.Labels{Principal: m.Principal, Tag: m.Tag, Name: m.Name, Description: m.Description}, Command: m.Preview, Mode: m.Mode, Backend: m.Place.Backend, State: messages.Starting,
		Timeout: m.Timeout, Deadline: m.Deadline, Dir: m.Dir, Created: m.Created, OnFinish: messages.Notices(m.OnFinish),
		Terminal: m.Terminal, Output: []messages.StreamOutput{{Stream: messages.Merged}},
	}
	if m.Separate {
		job.Output = []messages.StreamOutput{{Stream: messages.Stdout}, {Stream: messages.Stderr}}
	}
	m.keeps(&job)
	return job
}

// keeps adds FlagKept to a record if the job is kept.
func (m *jobMeta) keeps(job *messages.Record) {
	if m.Kept && !job.HasFlag(messages.FlagKept) {
		job.Flags = append(slices.Clip(job.Flags), messages.FlagKept)
	}
}

// terms returns the options of the job.
func (m *jobMeta) terms(job messages.Record) *jobOptions {
	return &jobOptions{
		background: m.Background || m.Mode == messages.ModeAsync || m.Mode == messages.ModeDetached,
		named:      job.Dir != "", promoteAfter: m.PromoteAfter, grace: m.Grace, onExit: m.OnExit,
	}
}

// cut returns at most n bytes of s. JSON replaces a rune that is cut.
func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
