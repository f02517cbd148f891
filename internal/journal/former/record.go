package former

import (
	"time"

	"troupe/messages"
)

// Record is the stored state of one job.
type Record struct {
	First, Over messages.Seq // numbers of its first fact and of its CommandRetired
	Key         Key
	Job         messages.Record
	Small       []Output
	Waiting     *Request // nil: it is not queued, or its request was not recorded
}

// Key is the idempotency key of a job.
type Key struct {
	Job       messages.JobID
	Principal messages.Principal
	Key       string
	Digest    string
}

// Output is a small output of a job.
type Output struct {
	Stream uint8
	Data   string
}

// Request is the request of a queued job.
type Request struct {
	Run messages.RunCommand
	Env []string
}

// Channel is the position of one subscriber.
type Channel struct {
	ID     messages.ChannelID
	Filter messages.Filter
	Window int
	Acked  messages.Seq
	Seen   time.Time
}

// Totals describes the whole file.
type Totals struct {
	Last                                              messages.Seq
	Facts, Number, Over, Channel, Records, Bytes, Sum uint64
}

// Job reads the record of a job.
func Job(b []byte) (Record, error) { return read(b, recordFields) }

// Subscriber reads the record of a channel.
func Subscriber(b []byte) (Channel, error) { return read(b, channelFields) }

// File reads the totals.
func File(b []byte) (Totals, error) { return read(b, totalsFields) }

// Ends reads the last ends of sessions.
func Ends(b []byte) ([]messages.SessionEnd, error) {
	return read(b, func(f *fields, l *[]messages.SessionEnd) { list(f, 1, l, endFields) })
}

func recordFields(f *fields, r *Record) {
	unsigned(f, 1, &r.First)
	unsigned(f, 2, &r.Over)
	nested(f, 3, &r.Key, keyFields)
	nested(f, 4, &r.Job, jobFields)
	list(f, 5, &r.Small, outputOfFields)
	optional(f, 6, &r.Waiting, requestFields)
}

func keyFields(f *fields, k *Key) {
	text(f, 1, &k.Job)
	text(f, 2, &k.Principal)
	text(f, 3, &k.Key)
	text(f, 4, &k.Digest)
}

func outputOfFields(f *fields, o *Output) {
	unsigned(f, 1, &o.Stream)
	text(f, 2, &o.Data)
}

func channelFields(f *fields, c *Channel) {
	text(f, 1, &c.ID)
	nested(f, 2, &c.Filter, filterFields)
	integer(f, 3, &c.Window)
	unsigned(f, 4, &c.Acked)
	moment(f, 5, &c.Seen)
}

func filterFields(f *fields, m *messages.Filter) {
	text(f, 1, &m.Scope)
	text(f, 2, &m.Job)
	flag(f, 3, &m.Ends)
	text(f, 4, &m.Notice)
}

func totalsFields(f *fields, t *Totals) {
	unsigned(f, 1, &t.Last)
	unsigned(f, 2, &t.Facts)
	unsigned(f, 3, &t.Number)
	unsigned(f, 4, &t.Over)
	unsigned(f, 5, &t.Channel)
	unsigned(f, 6, &t.Records)
	unsigned(f, 7, &t.Bytes)
	unsigned(f, 8, &t.Sum)
}

func endFields(f *fields, e *messages.SessionEnd) {
	text(f, 1, &e.Scope)
	text(f, 2, &e.Session)
	text(f, 3, &e.Backend)
	text(f, 4, &e.Reason)
	moment(f, 5, &e.At)
	known, code := false, 0
	flag(f, 6, &known)
	integer(f, 7, &code)
	if known {
		e.ExitCode = &code
	}
	text(f, 8, &e.Hash)
	integer(f, 9, &e.Length)
	flag(f, 10, &e.Closed)
}

func requestFields(f *fields, r *Request) {
	nested(f, 1, &r.Run, runFields)
	texts(f, 2, &r.Env)
}

func runFields(f *fields, r *messages.RunCommand) {
	text(f, 1, &r.UID)
	text(f, 2, &r.Key)
	text(f, 3, &r.Principal)
	text(f, 4, &r.Tag)
	text(f, 5, &r.Scope)
	text(f, 6, &r.Session)
	optional(f, 7, &r.Open, planFields)
	text(f, 8, &r.Name)
	flag(f, 9, &r.Replace)
	text(f, 10, &r.Description)
	text(f, 11, &r.Text)
	texts(f, 12, &r.Argv)
	text(f, 13, &r.Shell)
	text(f, 14, &r.Dir)
	texts(f, 15, &r.Env.Set)
	text(f, 16, &r.Env.Policy)
	text(f, 17, &r.Umask)
	text(f, 18, &r.Streams)
	text(f, 19, &r.Stdin)
	nested(f, 20, &r.Terminal, terminalFields)
	flag(f, 21, &r.Shown)
	var background, detach bool
	flag(f, 22, &background)
	flag(f, 23, &detach)
	switch {
	case detach:
		r.Mode = messages.ModeDetached
	case background:
		r.Mode = messages.ModeAsync
	}
	text(f, 24, &r.LogFile)
	integer(f, 25, &r.PromoteAfter)
	integer(f, 26, &r.Timeout)
	integer(f, 27, &r.Grace)
	text(f, 28, &r.OnExit)
	texts(f, 29, &r.OnFinish)
	nested(f, 30, &r.Quota, quotaFields)
	text(f, 31, &r.Durability)
	flag(f, 32, &r.Persist)
}

func planFields(f *fields, p *messages.SessionPlan) {
	text(f, 1, &p.Backend)
	text(f, 2, &p.Dir)
	text(f, 3, &p.Env.Policy)
	texts(f, 4, &p.Env.Base)
	texts(f, 5, &p.Env.Set)
	text(f, 6, &p.Umask)
	text(f, 7, &p.Shell)
	nested(f, 8, &p.Terminal, terminalFields)
}

func quotaFields(f *fields, q *messages.Quota) {
	integer(f, 1, &q.Bytes)
	text(f, 2, &q.Policy)
}
