package journal

import "troupe/messages"

// storedRequest is a Request in the record of its job. Fields as in jobFields: a number belongs
// to its field for ever. BaseEnv of the run is not stored, since Env includes it.
type storedRequest struct {
	run messages.RunCommand
	env []string
}

func requestFields(f *fields, r *storedRequest) {
	nested(f, 1, &r.run, runFields)
	texts(f, 2, &r.env)
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
	texts(f, 15, &r.Env)
	text(f, 16, &r.EnvPolicy)
	text(f, 17, &r.Umask)
	text(f, 18, &r.Streams)
	text(f, 19, &r.Stdin)
	nested(f, 20, &r.Terminal, terminalFields)
	flag(f, 21, &r.Shown)
	flag(f, 22, &r.Background)
	flag(f, 23, &r.Detach)
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
	text(f, 3, &p.EnvPolicy)
	texts(f, 4, &p.BaseEnv)
	texts(f, 5, &p.Env)
	text(f, 6, &p.Umask)
	text(f, 7, &p.Shell)
	nested(f, 8, &p.Terminal, terminalFields)
}

func quotaFields(f *fields, q *messages.Quota) {
	integer(f, 1, &q.Bytes)
	text(f, 2, &q.Policy)
}

// request stores the request of a queued job in its record.
func (t *txn) request(q Request) error {
	r, err := t.job(q.Job)
	if err != nil || r == nil || r.Job.UID != q.UID || r.Job.State != messages.Queued || q.Run == nil {
		return err
	}
	r.waiting = &storedRequest{run: *q.Run, env: q.Env}
	t.save(r)
	return nil
}

// entry returns the stored state of a record.
func (r *record) entry() Entry {
	e := r.Entry
	if r.waiting != nil {
		e.Request = Request{Job: r.Job.ID, UID: r.Job.UID, Run: &r.waiting.run, Env: r.waiting.env}
	}
	return e
}
