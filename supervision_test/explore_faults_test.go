package supervision_test

import (
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// fallible are the kinds of actors that a schedule makes fail; the supervisor's
// failure is an end of its own.
var fallible = []string{"command", "session", "scope", "subscope", "sink", "channel", "recorder", "watch", "gather", "release", "tail"}

// mayCrash counts a fault, if there may be one more.
func (x *explorer) mayCrash() bool {
	if !x.faulty || x.crashes >= maxCrashes {
		return false
	}
	x.crashes++
	return true
}

// crashNow makes a living actor fail.
func (x *explorer) crashNow() {
	var kinds [][]*actor.PID
	for _, kind := range fallible {
		if living := x.stage.all(kind); len(living) > 0 {
			kinds = append(kinds, living)
		}
	}
	if len(kinds) == 0 || !x.mayCrash() {
		return
	}
	pid := pick(x, pick(x, kinds...)...)
	x.note("%s fails", pid.Id)
	x.system().Root.Send(pid, boom{})
}

// crashLater makes an actor fail over one of the next messages.
func (x *explorer) crashLater() {
	if !x.mayCrash() {
		return
	}
	f := fault{point: point{kind: pick(x, fallible...)}, nth: 1 + x.rng.IntN(5), behind: x.chance(40)}
	x.note("the %dth message to a %s from now on fails (behind: %v)", f.nth, f.kind, f.behind)
	x.stage.fail(f)
}

func (x *explorer) journalFailsForAWhile() {
	if x.journalFails() {
		return
	}
	d := x.while()
	x.note("the journal fails for %s", d)
	x.breakJournal(d)
}

// engineForgets has the engine lose a job. That is found out when an actor adopts
// it: so its actor fails, too.
func (x *explorer) engineForgets() {
	living := x.living()
	if len(living) == 0 {
		return
	}
	p := pick(x, living...)
	t := x.tales()[p.ID]
	if t == nil || t.last.Started.IsZero() {
		return // one that was not heard to start may be started again
	}
	for _, pid := range x.stage.all("command") {
		if strings.Contains(pid.Id, "/command-"+string(t.last.ID)+"$") && x.mayCrash() {
			x.note("the engine forgets %s, and its actor fails", p.Text())
			x.lost[p.ID] = true
			x.engine.Forget(p.ID)
			x.system().Root.Send(pid, boom{})
			return
		}
	}
}

// hear subscribes: to all, to some, or again.
func (x *explorer) hear() {
	r := messages.Subscribe{Window: pick(x, 0, 1, 4)}
	switch {
	case x.chance(30):
		r.Now = true
	case x.chance(30):
		r.Filter = pick(x, messages.Filter{Scope: "a"}, messages.Filter{Ends: true})
	case x.chance(40):
		r.Channel, r.Resume = pick[messages.ChannelID](x, "x", "y"), true
	}
	eager := x.chance(70)
	x.note("%s, eager: %v", say(r), eager)
	x.subscribeAs(r, eager)
}

// subscribeAs subscribes, and forgets the subscribers that it replaces.
func (x *explorer) subscribeAs(r messages.Subscribe, eager bool) {
	if r.Channel != "" {
		x.replaced(r.Channel)
	}
	x.subscribe(r, eager)
}

// replaced notes that who hears a channel hears it no more.
func (x *explorer) replaced(name messages.ChannelID) {
	for _, s := range x.subs {
		s.replaced = s.replaced || s.name() == name
	}
}

func (x *explorer) acknowledgeSome() {
	slow := slices.DeleteFunc(slices.Clone(x.subs), func(s *subscriber) bool { return s.eager || s.name() == "" || x.away[s.pid.Id] })
	if len(slow) == 0 {
		return
	}
	s := pick(x, slow...)
	x.note("%s acknowledges %d", s.name(), s.last())
	x.tell(messages.Acknowledge{Channel: s.name(), Seq: s.last()})
}

// subscriberGoes takes a subscriber away: without a word, or in order.
func (x *explorer) subscriberGoes() {
	if len(x.subs) == 0 {
		return
	}
	s := pick(x, x.subs...)
	if s.name() == "" {
		return
	}
	s.replaced = true
	if x.chance(50) {
		x.replaced(s.name())
		x.request(messages.Unsubscribe{Channel: s.name()})
		return
	}
	x.note("the subscriber of %s goes away", s.name())
	x.goes(s.pid.Id)
	s.vanish()
}

// clientGoes takes a client away that waits for a reply.
func (x *explorer) clientGoes() {
	if len(x.unheard) == 0 {
		return
	}
	c := pick(x, x.unheard...)
	if _, run := c.request.(messages.RunCommand); run && x.chance(50) {
		return
	}
	x.note("the client of %T goes away", c.request)
	x.goes(c.pid.Id)
	x.system().ProcessRegistry.Remove(c.pid)
	same := func(d *client) bool { return d == c }
	x.unheard = slices.DeleteFunc(x.unheard, same)
	x.clients = slices.DeleteFunc(x.clients, same)
}

func (x *explorer) goes(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.away[id] = true
}
