package engine

import (
	"errors"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// process is a job as one owner holds it: the result of Start and Adopt. Its calls only
// queue work for goroutines of the engine.
type process struct {
	job *job
	by  *backends.Binding
}

// Output implements backends.Process.
func (p process) Output(s messages.Stream) (spill.Log, error) {
	log, err := p.job.engine.opt.Store.Open(string(p.job.id), uint8(s))
	if err == nil {
		return log, nil
	}
	e := &messages.Error{
		Code: messages.OutputUnavailable, Reason: s.String(),
		Message: "the job has no output of that stream: " + err.Error(),
	}
	if errors.Is(err, spill.ErrNotFound) {
		e.Message = "the job has no log of its " + s.String() + " stream"
		e.Hint = "a job has either the merged stream or stdout and stderr"
	}
	return nil, e
}

// Do implements backends.Process.
func (p process) Do(c backends.Control) { p.job.do(p.by, c) }

// Stop implements backends.Process.
func (p process) Stop(c messages.Cause, grace time.Duration) { p.job.stop(c, grace) }

// NotifyGrowth implements backends.Process.
func (p process) NotifyGrowth(s messages.Stream, from int64) {
	if int(s) < len(p.job.credits.armed) && p.job.owner() == p.by && p.job.credits.arm(s, from) {
		p.job.engine.run(p.job, p.job.tell)
	}
}

// SaveMeta implements backends.Process.
func (p process) SaveMeta(meta []byte) {
	if len(meta) > backends.MaxMeta {
		p.job.fault(errors.New("metadata larger than backends.MaxMeta was dropped"))
		return
	}
	p.job.mu.Lock()
	defer p.job.mu.Unlock()
	p.job.meta = append([]byte(nil), meta...)
}

// Settle implements backends.Process.
func (p process) Settle(seq uint64) { p.job.settle(seq) }

// Release implements backends.Process.
func (p process) Release() {
	p.job.unbind(p.by)
	p.by.End()
}
