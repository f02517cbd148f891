package actors

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// channels are the subscribers of a node. After a crash a channel resumes after the last
// acknowledged number, which is stored here.
type channels struct {
	byID    map[messages.ChannelID]*subscription
	count   int                                     // of client channels so far
	notices int                                     // channels of notifiers so far
	past    map[messages.ChannelID]SubscriberCursor // of a former node, or without a subscriber; not resumed yet
	taken   map[string]*subscription                // stopped for another subscriber, by PID
	origins []Origin                                // of the journal, the oldest first
}

// pastChannels is the number of past channels per open one. A journal keeps as many.
const pastChannels = 3

type subscription struct {
	spec          channelSpec
	pid           *actor.PID
	deliveredUpTo messages.Seq // facts up to here are delivered or filtered out
	acked         messages.Seq // acknowledged, as known to the channel
	crashes       crashes
	notice        *notifyTarget // of a notifier; nil: of a client
	hostOwned     bool          // of the host program
}

func newChannels() channels {
	return channels{
		byID: map[messages.ChannelID]*subscription{}, past: map[messages.ChannelID]SubscriberCursor{}, taken: map[string]*subscription{},
	}
}

// subscribe opens a channel, or resumes one.
func (s *supervisor) subscribe(ctx actor.Context, request any) {
	switch r := request.(type) {
	case messages.Subscribe:
		if ctx.Sender() != nil {
			s.openChannel(ctx, r)
		}
	case messages.Unsubscribe:
		c, ok := s.channels.byID[r.Channel]
		if _, past := s.channels.past[r.Channel]; past && !ok { // it will not be resumed
			delete(s.channels.past, r.Channel)
			s.queueEntry(JournalEntry{Left: []messages.ChannelID{r.Channel}})
			if ctx.Sender() != nil {
				ctx.Respond(messages.Unsubscribed{Channel: r.Channel, Reason: "unsubscribed"})
			}
			return
		}
		if !ok || c.notice != nil {
			refuse(ctx, r, noSuchChannel(r.Channel))
			return
		}
		ctx.RequestWithCustomSender(c.pid, ctx.Message(), ctx.Sender())
	}
}

func noSuchChannel(id messages.ChannelID) *messages.Error {
	return &messages.Error{
		Code: messages.NotFound, Reason: "channel", Message: fmt.Sprintf("there is no channel %s", id), Hint: "subscribe first",
	}
}

func (s *supervisor) openChannel(ctx actor.Context, r messages.Subscribe) {
	if s.phase > open {
		refuse(ctx, r, shuttingDown())
		return
	}
	id := r.Channel
	if id == "" {
		id = s.channels.unused()
	}
	old, known := s.channels.byID[id]
	if known && old.notice != nil {
		refuse(ctx, r, &messages.Error{Code: messages.Conflict, Reason: "channel", Message: fmt.Sprintf("channel %s is reserved for the node", id), Hint: "use another name"})
		return
	}
	if !known && !r.Own && s.channelsFull(ctx) {
		refuse(ctx, r, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "channels",
			Message: fmt.Sprintf("limit of %d channels reached", s.limit.Channels), Hint: "unsubscribe one, or set limits.channels higher",
		})
		return
	}
	spec := channelSpec{
		id: id, subscriber: ctx.Sender(), filter: r.Filter, after: r.After, window: windowOf(r.Window),
		last: s.newest(), newest: s.seq, origin: s.channels.origin(),
	}
	foreign := !r.Now && !r.Resume && s.channels.foreign(r)
	if r.Now {
		spec.after, spec.begun = spec.last, s.seq // clients that wait may have had facts that are not recorded yet
	}
	if s.unwritable() || s.journalErr != nil { // when later facts are recorded is not known
		spec.newest = spec.last
	}
	before, came := s.channels.past[id]
	switch {
	case known:
		if r.Resume {
			spec.after, spec.begun = old.spec.after, old.spec.begun
		}
		if !old.spec.subscriber.Equal(ctx.Sender()) {
			s.channels.taken[old.pid.Id] = old
		}
		ctx.Stop(old.pid)
	case came && r.Resume:
		spec.after, spec.begun = before.Acked, 0
	}
	delete(s.channels.past, id)
	if foreign || spec.after > spec.last { // a number of another journal: all facts are new
		spec.beyond, spec.after = spec.after, 0
	}
	s.queueEntry(JournalEntry{Channels: []SubscriberCursor{{ID: id, Filter: spec.filter, Window: spec.window, Acked: spec.after}}})
	s.channels.byID[id] = &subscription{spec: spec, hostOwned: r.Own, deliveredUpTo: spec.last, acked: spec.after, pid: s.spawnChannel(ctx, spec)}
}

// origin returns the origin of the journal since it was opened, "" if it has none.
func (c *channels) origin() string {
	if len(c.origins) == 0 {
		return ""
	}
	return c.origins[len(c.origins)-1].ID
}

// foreign reports whether a subscriber has its number from another journal: the origin is not one
// of this journal, or this journal was opened with fewer facts after that.
func (c *channels) foreign(r messages.Subscribe) bool {
	if r.Origin == "" || len(c.origins) == 0 {
		return false
	}
	at := slices.IndexFunc(c.origins, func(o Origin) bool { return o.ID == r.Origin })
	return at < 0 || at+1 < len(c.origins) && r.After > c.origins[at+1].After
}

// unused returns a name that no channel has or had.
func (c *channels) unused() messages.ChannelID {
	for {
		c.count++
		id := messages.ChannelID(fmt.Sprintf("c%d", c.count))
		_, here := c.byID[id]
		if _, past := c.past[id]; !here && !past {
			return id
		}
	}
}

// channelsFull reports whether the limit of channels is reached. At the limit it stops
// channels whose subscriber has gone and keeps their cursors, so that a returning subscriber
// resumes.
func (s *supervisor) channelsFull(ctx actor.Context) bool {
	if s.channels.clients() < s.limit.Channels {
		return false
	}
	for id, c := range s.channels.byID {
		if c.notice != nil || reachable(ctx, c.spec.subscriber) {
			continue
		}
		ctx.Stop(c.pid)
		delete(s.channels.byID, id)
		if len(s.channels.past) < pastChannels*s.limit.Channels {
			s.channels.past[id] = SubscriberCursor{ID: id, Filter: c.spec.filter, Window: c.spec.window, Acked: c.spec.after}
		} else {
			s.queueEntry(JournalEntry{Left: []messages.ChannelID{id}})
		}
	}
	return s.channels.clients() >= s.limit.Channels
}

// newest returns the number of the newest recorded fact.
func (s *supervisor) newest() messages.Seq {
	if len(s.unwritten) > 0 {
		return s.unwritten[0].Seq - 1
	}
	return s.seq
}

func (s *supervisor) spawnChannel(ctx actor.Context, spec channelSpec) *actor.PID {
	return ctx.SpawnPrefix(channelProps(s.deps, spec), kindChannel+"c")
}

// deliver sends each channel the newly recorded facts that pass its filter, if there are any.
func (c *channels) deliver(ctx actor.Context, facts []messages.FactRecorded) {
	for _, sub := range c.byID {
		var through []messages.FactRecorded
		for _, fact := range facts {
			if sub.spec.passes(fact) {
				through = append(through, fact)
			}
		}
		if len(through) == 0 {
			continue
		}
		m := deliver{after: sub.deliveredUpTo, facts: through, upTo: facts[len(facts)-1].Seq, acked: sub.spec.after}
		sub.deliveredUpTo, sub.acked = m.upTo, m.acked
		ctx.Send(sub.pid, m)
	}
}

// lowerNewest tells subscribers that wait for facts which the journal does not take now where the
// recorded ones end.
func (c *channels) lowerNewest(ctx actor.Context, newest messages.Seq) {
	for _, sub := range c.byID {
		if sub.notice == nil && sub.spec.newest > newest {
			sub.spec.newest = newest
			ctx.Send(sub.spec.subscriber, messages.Subscribed{Channel: sub.spec.id, After: sub.spec.after, Newest: newest, Origin: sub.spec.origin})
		}
	}
}

// acknowledge stores an acknowledgement. The channel gets it with the next fact, or at once if
// its window may be full or the node flushes.
func (s *supervisor) acknowledge(ctx actor.Context, m messages.Acknowledge) {
	c, ok := s.channels.byID[m.Channel]
	if !ok {
		return
	}
	if seq := min(m.Seq, s.seq); seq > c.spec.after {
		c.spec.after = seq
		if c.notice == nil { // else the records of the jobs have it
			s.queueAck(ctx, messages.Acknowledge{Channel: m.Channel, Seq: seq})
		}
	}
	if room := messages.Seq(c.spec.window); s.newest() < c.acked+room && s.phase < flushingRest {
		return
	}
	c.acked = c.spec.after // not m.Seq: it may be older
	ctx.Send(c.pid, messages.Acknowledge{Channel: m.Channel, Seq: c.acked})
}

// channelLost replaces a crashed channel, or ends it after too many crashes and tells the
// subscriber. A subscriber whose channel was taken by another gets ChannelReplaced, after all
// its facts.
func (s *supervisor) channelLost(ctx actor.Context, who *actor.PID) {
	if c, ok := s.channels.taken[who.Id]; ok {
		delete(s.channels.taken, who.Id)
		if reachable(ctx, c.spec.subscriber) {
			ctx.Send(c.spec.subscriber, messages.Unsubscribed{Channel: c.spec.id, Reason: messages.ChannelReplaced})
		}
		return
	}
	for id, c := range s.channels.byID {
		if !c.pid.Equal(who) {
			continue
		}
		failing := c.crashes.add(clock())
		if failing && c.notice != nil {
			s.stopNotifier(ctx, c.notice)
			s.giveUpNotices(ctx, c.notice)
			return
		}
		if failing {
			delete(s.channels.byID, id)
			s.queueEntry(JournalEntry{Left: []messages.ChannelID{id}})
			ctx.Send(c.spec.subscriber, messages.Unsubscribed{Channel: id, Reason: "the channel crashed too often; subscribe again"})
			return
		}
		c.spec.last, c.spec.resumed = s.newest(), true
		c.deliveredUpTo, c.acked = c.spec.last, c.spec.after
		c.pid = s.spawnChannel(ctx, c.spec)
		return
	}
}

// remove removes a channel that has ended and returns its name, "" if there is none.
func (c *channels) remove(who *actor.PID) messages.ChannelID {
	for id, sub := range c.byID {
		if sub.pid.Equal(who) {
			delete(c.byID, id)
			return id
		}
	}
	return ""
}

// clients counts the channels of clients, to which the limit applies.
func (c *channels) clients() int {
	n := 0
	for _, sub := range c.byID {
		if sub.notice == nil && !sub.hostOwned {
			n++
		}
	}
	return n
}

// remember stores the cursors of a former node. Their names are not used again, and their
// subscribers resume.
func (c *channels) remember(all []SubscriberCursor) {
	for _, f := range all {
		c.past[f.ID] = f
		if n, err := strconv.Atoi(strings.TrimPrefix(string(f.ID), "c")); err == nil {
			c.count = max(c.count, n)
		}
	}
}

// flushPatience bounds the wait for acknowledgements at the shutdown: enough for a client that
// is alive.
const flushPatience = 2 * time.Second

// flushChannels delivers all recorded facts to the subscribers.
func (s *supervisor) flushChannels(ctx actor.Context) {
	s.phase = flushingRest
	s.withAcks()
	s.shutdown.flushing = len(s.archives)
	for _, pid := range s.archives {
		ctx.Request(pid, flushSink{}) // answers their waiting requests
	}
	for _, c := range s.channels.byID {
		if c.notice != nil && (s.jobsReleased() || !messages.IsURL(c.notice.to)) {
			continue // the next node goes on with it
		}
		s.shutdown.flushing++
		ctx.Send(c.pid, messages.Acknowledge{Channel: c.spec.id, Seq: c.spec.after})
		ctx.Request(c.pid, flush{})
	}
	s.timers = append(s.timers, sendLater(ctx, flushPatience, shutdownTimeout{phase: flushingRest}))
	s.shutdownStep(ctx)
}

func (s *supervisor) flushed(ctx actor.Context) {
	if s.phase == flushingRest {
		s.shutdown.flushing--
		s.shutdownStep(ctx)
	}
}
