package keeper

import (
	"errors"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// process is a job as one owner holds it. Its calls record the request, and send it if
// the socket has room.
type process struct {
	j  *job
	by *backends.Binding
}

// Output implements backends.Process.
func (p process) Output(s messages.Stream) (spill.Log, error) { return p.j.open(s) }

// Do implements backends.Process.
func (p process) Do(c backends.Control) { p.j.do(p.by, c) }

// Stop implements backends.Process.
func (p process) Stop(c messages.Cause, grace time.Duration) { p.j.stop(c, max(grace, 0)) }

// NotifyGrowth implements backends.Process.
func (p process) NotifyGrowth(s messages.Stream, from int64) { p.j.watch(p.by, s, from) }

// SaveMeta implements backends.Process.
func (p process) SaveMeta(meta []byte) {
	j := p.j
	if len(meta) > backends.MaxMeta {
		j.c.fault(errors.New("metadata larger than backends.MaxMeta was dropped"))
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.meta, j.metaSent = append([]byte(nil), meta...), true
	j.ask(askNote, j.meta)
}

// Settle implements backends.Process.
func (p process) Settle(seq uint64) {
	j := p.j
	j.mu.Lock()
	j.settled = max(j.settled, seq)
	if j.startTimedOut != nil { // the numbers are the client's; settleTimedOut settles those of the keeper
		j.mu.Unlock()
		return
	}
	over := j.ended && j.settled >= j.lastDelivered
	var outs *[3]*remoteLog
	if over {
		j.settled, j.settledAll = max(j.settled, j.lastHeard), true
		outs = j.small()
	}
	if settled := encode(number{Seq: j.settled}); outs != nil {
		j.askLater(askSettle, settled)
	} else { // the keeper moves a large log to a file
		j.ask(askSettle, settled)
	}
	j.mu.Unlock()
	if over {
		j.c.forget(j, outs)
	}
}

// Release implements backends.Process.
func (p process) Release() {
	j := p.j
	j.mu.Lock()
	if j.bound == p.by {
		j.bound, j.queue = nil, nil
		if !j.settledAll {
			j.ask(askRelease, nil)
		}
	}
	j.mu.Unlock()
	p.by.End()
}

// forget drops an ended and settled job. outs, if complete, stays for later readers.
func (c *Client) forget(j *job, outs *[3]*remoteLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs[j.id] != j {
		return
	}
	delete(c.jobs, j.id)
	if j.recorded {
		c.link.sendLater(message{kind: askRemove, job: j.id})
		return
	}
	c.recent.keep(j.id, outs)
}

// send sends to the present keeper, or to the next one.
func (c *Client) send(m message) (*link, uint64) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if !l.send(m) {
		return l, 0
	}
	return l, l.lastQueued()
}

// askLater sends a request that may wait a few seconds. The caller holds mu.
func (j *job) askLater(k kind, body []byte) {
	if j.suspended {
		return
	}
	j.c.mu.Lock()
	l := j.c.link
	j.c.mu.Unlock()
	l.sendLater(message{kind: k, gen: j.gen, job: j.id, body: body})
}

// ask sends a request for the newest binding. While the job is suspended it sends
// nothing: the new keeper gets the open requests later. The caller holds mu.
func (j *job) ask(k kind, body []byte) {
	if j.suspended {
		return
	}
	m, err := (message{kind: k, gen: j.gen, job: j.id, body: body}).pack()
	if err != nil {
		j.c.fault(err)
		return
	}
	j.c.send(m)
}

// start requests the process. Its answer, or a refusal, is the first fact.
func (j *job) start(s backends.Spec) *messages.Error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spec = &s
	if err := j.sendStart(); err != nil {
		j.spec = nil
		return refused(messages.ResourceExhausted, "descriptors", "the job cannot be sent to the keeper: "+err.Error(), "its texts must be below 64 MiB, and a descriptor free")
	}
	return nil
}

// sendStart sends the start, which expires: a start reported as failed must not run
// later. The caller holds mu.
func (j *job) sendStart() error {
	valid := j.c.options.valid()
	j.startExpiry = time.Now().Add(valid)
	m, err := (message{kind: askStart, gen: j.gen, job: j.id, body: encode(startRequest{*j.spec, clock() + valid})}).pack()
	if err != nil {
		return err
	}
	j.link, j.number = j.c.send(m)
	return nil
}

// adopt binds the job to a new owner.
func (j *job) adopt(facts backends.FactHandler) backends.Process {
	b := backends.Bind(facts)
	j.mu.Lock()
	former := j.bound
	j.bound, j.queue, j.pendingControls = b, nil, nil
	if j.startTimedOut != nil {
		j.mu.Unlock()
		former.End()
		go j.replayTimeout()
		return process{j, b}
	}
	j.reported, j.lastDelivered, j.ended, j.credit = reported{}, 0, false, [3]*growthRequest{}
	j.newGen()
	j.ask(askAdopt, nil)
	j.mu.Unlock()
	former.End()
	return process{j, b}
}

// newGen makes a new binding; earlier requests become void. The caller holds mu.
func (j *job) newGen() {
	j.c.mu.Lock()
	j.c.gen++
	j.gen = j.c.gen
	j.c.mu.Unlock()
	j.staleAnswers = nil // answers to the former binding are dropped
}

// do sends a control.
func (j *job) do(by *backends.Binding, c backends.Control) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended || j.bound != by {
		return // no fact follows the last one
	}
	_, nth := backends.Number(c)
	d := &pendingControl{nth: nth}
	j.pendingControls = append(j.pendingControls, d)
	outage := j.c.Health()
	m, err := (message{kind: askDo, gen: j.gen, job: j.id, body: encode(wireControl(c))}).pack()
	switch {
	case j.suspended:
		d.fact = refusal(messages.Internal, "the keeper has just been replaced: retry")
	case outage != nil:
		d.fact = messages.ControlRefused{Err: *outage}
	case len(j.pendingControls) > maxDue:
		d.fact = refusal(messages.ResourceExhausted, "too many requests wait for the job: wait for their answers")
	case err != nil:
		d.fact = refusal(messages.ResourceExhausted, "the request cannot be sent to the keeper: "+err.Error())
	default:
		j.c.send(m)
		return
	}
	go func() { // the caller must not get facts during its call
		j.mu.Lock()
		j.sayAnswers()
		j.deliver()
	}()
}

// maxDue bounds the controls of a job that are not answered.
const maxDue = 1024

func (j *job) stop(c messages.Cause, grace time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return
	}
	if until := time.Now().Add(grace); j.stopped == nil || until.Before(j.graceEnd) {
		j.graceEnd = until
	}
	if j.stopped == nil {
		j.stopped = &stop{Cause: c}
	}
	j.ask(askStop, encode(stop{Cause: c, Grace: grace}))
}

func (j *job) watch(by *backends.Binding, s messages.Stream, from int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.bound != by || int(s) >= len(j.credit) {
		return
	}
	j.credit[s] = &growthRequest{Stream: s, From: from}
	j.ask(askWatch, encode(*j.credit[s]))
}

// notFound handles the answer that the keeper does not know the adopted job.
func (j *job) notFound(gen uint64) {
	j.mu.Lock()
	if gen == j.gen && j.startTimedOut != nil {
		j.removeTimedOut()
	}
	if gen != j.gen || j.suspended || j.ended {
		j.mu.Unlock()
		return
	}
	j.markLost("the keeper has no record of the job any more", messages.Sizes{}, true)
	j.deliver()
}

// suspend stops requests for a job whose keeper has died, until the next keeper has
// listed its jobs. Pending controls are refused, since it is unknown whether they were
// performed.
func (j *job) suspend(old *link) {
	j.mu.Lock()
	if j.spec != nil && j.link != old { // the new keeper has the start
		j.mu.Unlock()
		return
	}
	j.suspended = true
	j.refuseDue(refusal(messages.Internal, "the keeper died before it answered: the request may have been performed"))
	j.deliver()
}

// moveTo continues with a new keeper; known says whether it has the job.
func (j *job) moveTo(known bool) {
	j.mu.Lock()
	if !j.suspended {
		j.mu.Unlock()
		return
	}
	j.suspended = false
	if j.startTimedOut != nil && !known {
		j.removeTimedOut()
		j.mu.Unlock()
		return
	}
	unsent := j.spec != nil && (j.number == 0 || !j.link.maybeSent(j.number))
	sizes, missing := j.saveLogs() // before the adoption, whose facts have the sizes
	if known || unsent {
		j.rebindAndResend(!known)
	} else if !j.ended {
		why := "the keeper died while the job ran, and its journal has no record of the job"
		if j.spec != nil {
			why = "the keeper died before it could record the start of the job"
		}
		j.markLost(why, sizes, missing)
	}
	j.deliver()
}

// rebind repeats the requests of a job.
func (j *job) rebind() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.suspended {
		return
	}
	j.refuseDue(refusal(messages.Internal, "too many requests for the keeper at once: this one may have been performed"))
	j.rebindAndResend(j.spec != nil)
	go func() {
		j.mu.Lock()
		j.deliver()
	}()
}

// rebindAndResend makes a new binding and repeats every request. The caller holds mu.
func (j *job) rebindAndResend(start bool) {
	j.newGen()
	if start {
		if err := j.sendStart(); err != nil {
			j.markLost("the job cannot be sent to the keeper: "+err.Error(), messages.Sizes{}, false)
			return
		}
	} else {
		j.ask(askAdopt, nil)
	}
	if j.bound == nil {
		j.ask(askRelease, nil)
	}
	if j.metaSent {
		j.ask(askNote, j.meta)
	}
	if j.stopped != nil {
		j.ask(askStop, encode(stop{Cause: j.stopped.Cause, Grace: max(time.Until(j.graceEnd), 0)}))
	}
	for _, w := range j.credit {
		if w != nil {
			j.ask(askWatch, encode(*w))
		}
	}
	if j.settled > 0 {
		j.ask(askSettle, encode(number{Seq: j.settled}))
	}
}
