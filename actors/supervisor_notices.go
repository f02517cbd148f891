package actors

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// maxRecipients bounds the commands and URLs that are told of ends: each that has
// something to be told of has two actors.
const maxRecipients = 1024

// recipient is a command or a URL that is told of the ends of jobs. While ends wait
// to be told there are a channel, which reads them from the journal, and its
// subscriber, which tells them; what was told is known by the records of the jobs,
// so that the next node goes on where this one ends.
type recipient struct {
	to      string
	live    int   // jobs that have not ended
	due     []due // ends that are not told, in their order
	pid     *actor.PID
	channel messages.ChannelID
	crashes crashes
}

// due is an end that is to be told.
type due struct {
	seq messages.Seq
	job messages.JobID
}

// mayNotify refuses to promise a notice that could not be given.
func (s *supervisor) mayNotify(r messages.RunCommand) *messages.Error {
	all := len(s.recipients)
	for _, to := range r.OnFinish {
		if messages.IsURL(to) && s.deps.Webhooks == nil {
			return &messages.Error{
				Code: messages.Unsupported, Reason: "on_finish", Message: "this node tells no URLs of ends",
				Hint: "give it something that sends them (Options.Webhooks), or ask the daemon",
			}
		}
		if s.recipients[to] == nil {
			all++
		}
	}
	if len(r.OnFinish) > 0 && all > maxRecipients {
		return &messages.Error{
			Code: messages.ResourceExhausted, Reason: "on_finish",
			Message: fmt.Sprintf("%d commands and URLs wait to be told of ends, which is all the node takes", maxRecipients),
			Hint:    "use one URL for many jobs, or wait until some were told",
		}
	}
	return nil
}

// expect knows that the end of a job is to be told, once it comes.
func (s *supervisor) expect(e *entry) {
	for _, n := range e.job.OnFinish {
		s.recipient(n.To).live++
	}
}

func (s *supervisor) recipient(to string) *recipient {
	r := s.recipients[to]
	if r == nil {
		r = &recipient{to: to}
		s.recipients[to] = r
	}
	return r
}

// unexpect forgets a job that has no end, since it has no begin.
func (s *supervisor) unexpect(ctx actor.Context, e *entry) {
	for _, n := range e.job.OnFinish {
		r := s.recipient(n.To)
		r.live--
		s.restNotices(ctx, r)
	}
}

// numbered are the notices of an end with the number that it will have.
func (s *supervisor) numbered(all []messages.Notice) []messages.Notice {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Seq == 0 {
			all[i].Seq = s.seq + 1
		}
	}
	return all
}

// notify has those told who are to hear of the end of a job.
func (s *supervisor) notify(ctx actor.Context, e *entry) {
	for _, n := range e.job.OnFinish {
		if n.Seq != e.seq {
			continue // it is known
		}
		r := s.recipient(n.To)
		r.live--
		r.due = append(r.due, due{seq: n.Seq, job: e.job.ID})
		if r.pid == nil {
			s.sendOut(ctx, r)
		}
	}
}

// rememberNotices finds what the node before has not told.
func (s *supervisor) rememberNotices() {
	for _, e := range s.jobs {
		for _, n := range e.job.OnFinish {
			switch {
			case n.State != messages.NoticePending:
			case e.job.State.Ended() && n.Seq > 0:
				r := s.recipient(n.To)
				r.due = append(r.due, due{seq: n.Seq, job: e.job.ID})
			case !e.job.State.Ended():
				s.recipient(n.To).live++
			}
		}
	}
	for _, r := range s.recipients {
		slices.SortFunc(r.due, func(a, b due) int { return cmp.Compare(a.seq, b.seq) })
	}
}

// sendAllOut has everybody told who is to be.
func (s *supervisor) sendAllOut(ctx actor.Context) {
	for _, to := range slices.Sorted(maps.Keys(s.recipients)) {
		if r := s.recipients[to]; r.pid == nil && len(r.due) > 0 {
			s.sendOut(ctx, r)
		}
	}
}

// sendOut makes a channel that begins with the oldest end that was not told, and who
// tells it.
func (s *supervisor) sendOut(ctx actor.Context, r *recipient) {
	teller, deps, to := newErrand, s.deps, r.to
	if messages.IsURL(to) {
		teller = newWebhook
	}
	for r.channel == "" || s.channels.byID[r.channel] != nil {
		s.channels.notices++
		r.channel = messages.ChannelID(fmt.Sprintf("notice-%d", s.channels.notices))
	}
	r.pid = ctx.SpawnPrefix(deps.props(func() actor.Actor { return teller(deps, to) }), kindNotice)
	spec := channelSpec{
		id: r.channel, subscriber: r.pid, filter: messages.Filter{Notice: to}, after: r.due[0].seq - 1, window: 1, last: s.newest(), resumed: true,
	}
	s.channels.byID[r.channel] = &subscription{spec: spec, given: spec.last, acked: spec.after, notice: r, pid: s.spawnChannel(ctx, spec)}
}

// callBack stops who tells a recipient, with the channel.
func (s *supervisor) callBack(ctx actor.Context, r *recipient) {
	if r.pid == nil {
		return
	}
	ctx.Stop(r.pid)
	r.pid = nil
	if c := s.channels.byID[r.channel]; c != nil && c.notice == r {
		delete(s.channels.byID, r.channel)
		ctx.Stop(c.pid)
	}
}

// noticed hears that a notice is over. The next one is told when its channel hears
// of that.
func (s *supervisor) noticed(ctx actor.Context, m noticed) {
	r := s.recipients[m.to]
	if r == nil {
		return
	}
	i := slices.IndexFunc(r.due, func(d due) bool { return d.seq == m.seq })
	if i >= 0 {
		d := r.due[i]
		r.due = slices.Delete(r.due, i, i+1)
		s.recordNotice(ctx, d, m)
	}
	s.acknowledge(ctx, messages.Acknowledge{Channel: r.channel, Seq: m.seq})
	s.restNotices(ctx, r)
}

// dropped gives up the notices of ends that the journal no longer holds.
func (s *supervisor) dropped(ctx actor.Context, m noticesDropped) {
	r := s.recipients[m.to]
	for r != nil && len(r.due) > 0 && r.due[0].seq <= m.upTo {
		d := r.due[0]
		r.due = r.due[1:]
		s.recordNotice(ctx, d, noticed{to: m.to, seq: d.seq, err: messages.Error{
			Code: messages.OutputUnavailable, Reason: "journal", Message: "the journal no longer holds the end of the job", Hint: "ask for the job itself",
		}})
	}
	if r != nil {
		s.restNotices(ctx, r)
	}
}

// recordNotice puts what became of a notice into the record of its job, if that is
// still kept.
func (s *supervisor) recordNotice(ctx actor.Context, d due, m noticed) {
	e, ok := s.jobs[d.job]
	if !ok || s.phase == down {
		return
	}
	all := slices.Clone(e.job.OnFinish)
	i := slices.IndexFunc(all, func(n messages.Notice) bool {
		return n.To == m.to && n.Seq == d.seq && n.State == messages.NoticePending
	})
	if i < 0 {
		return
	}
	all[i].State, all[i].Tries, all[i].Err = messages.NoticeDelivered, m.tries, m.err
	if m.err != (messages.Error{}) {
		all[i].State = messages.NoticeGivenUp
	}
	e.change(func(job *messages.Job) { job.OnFinish = all })
	s.record(ctx, e, messages.CommandNotified{})
	s.toldAll(ctx, e)
}

// restNotices lets go of a recipient that nothing is left for. At the end of the node
// its channel stays: somebody waits for that.
func (s *supervisor) restNotices(ctx actor.Context, r *recipient) {
	if len(r.due) > 0 || s.phase >= flushingRest {
		return
	}
	s.callBack(ctx, r)
	if r.live <= 0 {
		delete(s.recipients, r.to)
	}
}

// tellerLost puts somebody else in the place of who told a recipient, unless that
// fails too often.
func (s *supervisor) tellerLost(ctx actor.Context, who *actor.PID) {
	for _, r := range s.recipients {
		if r.pid == nil || !r.pid.Equal(who) {
			continue
		}
		s.callBack(ctx, r)
		if r.crashes.add(clock()) {
			s.giveUpNotices(ctx, r)
		} else if len(r.due) > 0 {
			s.sendOut(ctx, r)
		}
		return
	}
}

// giveUpNotices gives up what a recipient was to be told: the actors that would tell
// it fail every time.
func (s *supervisor) giveUpNotices(ctx actor.Context, r *recipient) {
	failed := messages.Error{
		Code: messages.Internal, Reason: "notice", Message: "what tells it failed too often", Hint: "look at the log",
	}
	for _, d := range r.due {
		s.recordNotice(ctx, d, noticed{to: r.to, seq: d.seq, err: failed})
	}
	r.due = nil
	s.restNotices(ctx, r)
}
