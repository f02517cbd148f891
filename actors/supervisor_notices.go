package actors

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// maxRecipients bounds the targets of notices. Each target with pending notices has two
// actors.
const maxRecipients = 1024

// notifyTarget is a command or URL that gets notices. While notices are pending it has a
// channel, which reads the ends from the journal, and a notifier, which delivers them. The
// records of the jobs store the results, so that the next node continues.
type notifyTarget struct {
	to         string
	unfinished int         // jobs that have not ended
	pending    []dueNotice // in the order of the ends
	pid        *actor.PID  // of the notifier; nil: none
	channel    messages.ChannelID
	crashes    crashes
}

// dueNotice is a notice that is not delivered yet.
type dueNotice struct {
	seq messages.Seq
	job messages.JobID
}

// checkNotices returns an error if a notice of a request could not be delivered.
func (s *supervisor) checkNotices(r messages.RunCommand) *messages.Error {
	all := len(s.notifyTargets)
	for _, to := range r.OnFinish {
		if messages.IsURL(to) && s.deps.Webhooks == nil {
			return &messages.Error{
				Code: messages.Unsupported, Reason: "on_finish", Message: "this node cannot deliver notices to URLs",
				Hint: "set Options.Webhooks, or use the daemon",
			}
		}
		if s.notifyTargets[to] == nil {
			all++
		}
	}
	if len(r.OnFinish) > 0 && all > maxRecipients {
		return &messages.Error{
			Code: messages.ResourceExhausted, Reason: "on_finish",
			Message: fmt.Sprintf("limit of %d commands and URLs for notices reached", maxRecipients),
			Hint:    "use one URL for many jobs, or wait until some notices are delivered",
		}
	}
	return nil
}

// addNotices counts a new job for its targets.
func (s *supervisor) addNotices(e *jobEntry) {
	for _, n := range e.job.OnFinish {
		s.recipient(n.To).unfinished++
	}
}

func (s *supervisor) recipient(to string) *notifyTarget {
	r := s.notifyTargets[to]
	if r == nil {
		r = &notifyTarget{to: to}
		s.notifyTargets[to] = r
	}
	return r
}

// dropNotices uncounts a job that was refused.
func (s *supervisor) dropNotices(ctx actor.Context, e *jobEntry) {
	for _, n := range e.job.OnFinish {
		r := s.recipient(n.To)
		r.unfinished--
		s.restNotices(ctx, r)
	}
}

// numbered returns the notices with the number of the end, which is the next.
func (s *supervisor) numbered(all []messages.Notice) []messages.Notice {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Seq == 0 {
			all[i].Seq = s.seq + 1
		}
	}
	return all
}

// notify adds the end of a job to its targets and starts their notifiers.
func (s *supervisor) notify(ctx actor.Context, e *jobEntry) {
	for _, n := range e.job.OnFinish {
		if n.Seq != e.seq {
			continue // of a former end fact
		}
		r := s.recipient(n.To)
		r.unfinished--
		r.pending = append(r.pending, dueNotice{seq: n.Seq, job: e.job.ID})
		if r.pid == nil {
			s.startNotifier(ctx, r)
		}
	}
}

// rememberNotices finds the pending notices of a former node.
func (s *supervisor) rememberNotices() {
	for _, e := range s.jobs {
		for _, n := range e.job.OnFinish {
			switch {
			case n.State != messages.NoticePending:
			case e.job.State.Ended() && n.Seq > 0:
				r := s.recipient(n.To)
				r.pending = append(r.pending, dueNotice{seq: n.Seq, job: e.job.ID})
			case !e.job.State.Ended():
				s.recipient(n.To).unfinished++
			}
		}
	}
	for _, r := range s.notifyTargets {
		slices.SortFunc(r.pending, func(a, b dueNotice) int { return cmp.Compare(a.seq, b.seq) })
	}
}

// startNotifiers starts a notifier for each target with pending notices.
func (s *supervisor) startNotifiers(ctx actor.Context) {
	for _, to := range slices.Sorted(maps.Keys(s.notifyTargets)) {
		if r := s.notifyTargets[to]; r.pid == nil && len(r.pending) > 0 {
			s.startNotifier(ctx, r)
		}
	}
}

// startNotifier spawns a notifier and a channel that starts with the oldest pending end.
func (s *supervisor) startNotifier(ctx actor.Context, r *notifyTarget) {
	producer, deps, to := newCommandNotifier, s.deps, r.to
	if messages.IsURL(to) {
		producer = newWebhook
	}
	for r.channel == "" || s.channels.byID[r.channel] != nil {
		s.channels.notices++
		r.channel = messages.ChannelID(fmt.Sprintf("notice-%d", s.channels.notices))
	}
	r.pid = ctx.SpawnPrefix(deps.props(func() actor.Actor { return producer(deps, to) }), kindNotice)
	spec := channelSpec{
		id: r.channel, subscriber: r.pid, filter: messages.Filter{Notice: to}, after: r.pending[0].seq - 1, window: 1, last: s.newest(), resumed: true,
	}
	s.channels.byID[r.channel] = &subscription{spec: spec, deliveredUpTo: spec.last, acked: spec.after, notice: r, pid: s.spawnChannel(ctx, spec)}
}

// stopNotifier stops the notifier of a target and its channel.
func (s *supervisor) stopNotifier(ctx actor.Context, r *notifyTarget) {
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

// noticed takes the result of a notice. The acknowledgement makes the channel send the next.
func (s *supervisor) noticed(ctx actor.Context, m noticeResult) {
	r := s.notifyTargets[m.to]
	if r == nil {
		return
	}
	i := slices.IndexFunc(r.pending, func(d dueNotice) bool { return d.seq == m.seq })
	if i >= 0 {
		d := r.pending[i]
		r.pending = slices.Delete(r.pending, i, i+1)
		s.recordNotice(ctx, d, m)
	}
	s.acknowledge(ctx, messages.Acknowledge{Channel: r.channel, Seq: m.seq})
	s.restNotices(ctx, r)
}

// dropped fails the notices of ends that the journal no longer has.
func (s *supervisor) dropped(ctx actor.Context, m noticesDropped) {
	r := s.notifyTargets[m.to]
	for r != nil && len(r.pending) > 0 && r.pending[0].seq <= m.upTo {
		d := r.pending[0]
		r.pending = r.pending[1:]
		s.recordNotice(ctx, d, noticeResult{to: m.to, seq: d.seq, err: messages.Error{
			Code: messages.OutputUnavailable, Reason: "journal", Message: "the journal no longer holds the end of the job", Hint: "read the record of the job",
		}})
	}
	if r != nil {
		s.restNotices(ctx, r)
	}
}

// recordNotice stores the result of a notice in the record of its job, if that is kept.
func (s *supervisor) recordNotice(ctx actor.Context, d dueNotice, m noticeResult) {
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
	e.edit(func(job *messages.Record) { job.OnFinish = all })
	s.record(ctx, e, messages.CommandNotified{})
	s.noticesDone(ctx, e)
}

// restNotices stops the notifier of a target without pending notices and removes a target
// without jobs. During the flush its channel stays, since the shutdown waits for it.
func (s *supervisor) restNotices(ctx actor.Context, r *notifyTarget) {
	if len(r.pending) > 0 || s.phase >= flushingRest {
		return
	}
	s.stopNotifier(ctx, r)
	if r.unfinished <= 0 {
		delete(s.notifyTargets, r.to)
	}
}

// notifierLost replaces a crashed notifier, or fails its notices after too many crashes.
func (s *supervisor) notifierLost(ctx actor.Context, who *actor.PID) {
	for _, r := range s.notifyTargets {
		if r.pid == nil || !r.pid.Equal(who) {
			continue
		}
		s.stopNotifier(ctx, r)
		if r.crashes.add(clock()) {
			s.giveUpNotices(ctx, r)
		} else if len(r.pending) > 0 {
			s.startNotifier(ctx, r)
		}
		return
	}
}

// giveUpNotices fails all pending notices of a target: its notifier crashes every time.
func (s *supervisor) giveUpNotices(ctx actor.Context, r *notifyTarget) {
	failed := messages.Error{
		Code: messages.Internal, Reason: "notice", Message: "its notifier crashed too often", Hint: "look at the log",
	}
	for _, d := range r.pending {
		s.recordNotice(ctx, d, noticeResult{to: r.to, seq: d.seq, err: failed})
	}
	r.pending = nil
	s.restNotices(ctx, r)
}
