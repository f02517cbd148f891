package journal

import "troupe/messages"

// request stores the request of a queued job in its record.
func (t *txn) request(q Request) error {
	r, err := t.job(q.Job)
	if err != nil || r == nil || r.Job.UID != q.UID || r.Job.State != messages.Queued || q.Run == nil {
		return err
	}
	run := *q.Run
	run.Env.Base, q.Run = nil, &run
	r.Request = q
	t.save(r)
	return nil
}
