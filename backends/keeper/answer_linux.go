package keeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// answer handles one message. It never waits.
func (s *server) answer(l *link, m message) {
	m, err := m.unpack()
	if err == nil {
		err = s.do(l, m)
	}
	switch {
	case err == nil:
	case m.kind == askStart: // the owner of a start or control waits for a fact
		s.say(l, message{kind: factFailed, gen: m.gen, job: m.job, body: encode(backends.StartFailure(*asError(err)))})
	case m.kind == askDo:
		w, _ := decode[control](m.body)
		s.say(l, message{kind: factRefused, gen: m.gen, job: m.job, body: encode(messages.ControlRefused{Err: *asError(err), Nth: w.Nth})})
	default:
		s.say(l, message{kind: sayRefused, gen: m.gen, job: m.job, body: encode(asError(err))})
	}
}

// say sends an answer of any size.
func (s *server) say(l *link, m message) {
	m, err := m.pack()
	if err != nil {
		s.fault(m.job, err)
		m = message{kind: sayRefused, gen: m.gen, job: m.job, body: encode(noRoom(err))}
	}
	l.send(m)
}

func noRoom(err error) *messages.Error {
	return refused(messages.ResourceExhausted, "descriptors", "the keeper has no room for that: "+err.Error(), "end some jobs, or raise the limit of open files (ulimit -n)")
}

func (s *server) do(l *link, m message) error {
	if l.onlyEnd && m.kind != askClose {
		return unknownKind(m.kind)
	}
	switch m.kind {
	case askStart:
		return s.start(l, m)
	case sayResync: // the client repeats or refuses dropped requests
	case askAdopt:
		s.adopt(l, m)
	case askLog:
		return s.giveLog(l, m)
	case askDone:
		l.send(message{kind: sayDone, gen: m.gen})
	case askInventory:
		return s.list(l, m)
	case askStates:
		return s.sendStates(l, m)
	case askLive:
		return s.sendLive(l, m)
	case askSave:
		return s.save(m)
	case askClose:
		s.close(l, m)
	case askRemove:
		if err := s.store.Remove(string(m.job)); err != nil && !errors.Is(err, spill.ErrNotFound) {
			return err
		}
	case askRelease, askDo, askStop, askWatch, askNote, askSettle:
		if proc, c := s.bound(m); proc != nil {
			return s.control(proc, c, m)
		}
	default:
		return unknownKind(m.kind)
	}
	return nil
}

// bound returns the process of a binding, if that is current.
func (s *server) bound(m message) (backends.Process, *servedJob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.jobs[m.job]
	if c == nil || c.proc == nil || c.gen != m.gen {
		return nil, nil
	}
	return c.proc, c
}

// start starts a job, once: a repeated start joins it.
func (s *server) start(l *link, m message) error {
	spec, err := decode[startRequest](m.body)
	if err != nil {
		return err
	}
	if len(spec.ID) > maxID || spec.ID != m.job {
		return messages.Invalid("id", "the id of the job is not the one it was sent under")
	}
	s.mu.Lock()
	known := s.jobs[m.job] != nil
	s.mu.Unlock()
	if known {
		s.adopt(l, m)
		return nil
	}
	if s.dirRemoved() {
		return errPlaceGone
	}
	if full := s.journal.full(); full != nil {
		return full
	}
	if spec.Before > 0 && clock() > spec.Before {
		return refused(messages.KeeperUnresponsive, "late", "the start reached the keeper too late: it was already reported as failed", "start it again")
	}
	c := &servedJob{
		separate: spec.Stdio.Streams == messages.SeparateStreams && spec.Stdio.Terminal == (messages.Terminal{}),
		safely:   spec.Log.Durability == spill.FsyncOnExit, meta: spec.Meta, gen: m.gen,
	}
	if spec.Stdio.Stdin == messages.StdinHost {
		spec.Stdio.Stdin = messages.StdinNull // the keeper has none to share
	}
	if err := s.claimPaths(&spec.Spec, c); err != nil {
		return err
	}
	s.mu.Lock()
	s.jobs[m.job] = c
	s.mu.Unlock()
	e := &factForwarder{s: s, link: l, id: m.job, gen: m.gen, job: c}
	s.bind(c, m.gen, s.engine.Start(spec.Spec, e.receive))
	return nil
}

// bind records the process of a binding.
func (s *server) bind(c *servedJob, gen uint64, proc backends.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.proc, c.gen = proc, gen
}

// adopt binds a job again. The engine replays its facts.
func (s *server) adopt(l *link, m message) {
	s.mu.Lock()
	c := s.jobs[m.job]
	s.mu.Unlock()
	if c != nil {
		e := &factForwarder{s: s, link: l, id: m.job, gen: m.gen, job: c}
		if proc, err := s.engine.Adopt(m.job, e.receive); err == nil {
			s.bind(c, m.gen, proc)
			return
		}
	}
	l.send(message{kind: sayGone, gen: m.gen, job: m.job})
}

// control performs a request on a process.
func (s *server) control(proc backends.Process, c *servedJob, m message) error {
	switch m.kind {
	case askRelease:
		proc.Release()
	case askDo:
		w, err := decode[control](m.body)
		if err != nil {
			return err
		}
		what := w.engineControl()
		if what == nil {
			return refused(messages.Unsupported, "control", "the keeper does not know the control "+strconv.Quote(w.Kind), "both sides must be of one version")
		}
		proc.Do(s.notePaused(c, what))
	case askStop:
		w, err := decode[stop](m.body)
		if err != nil {
			return err
		}
		proc.Stop(w.Cause, w.Grace)
	case askWatch:
		w, err := decode[growthRequest](m.body)
		if err != nil {
			return err
		}
		proc.NotifyGrowth(w.Stream, w.From)
	case askNote:
		if len(m.body) > backends.MaxMeta {
			return refused(messages.TooLarge, "meta", "the meta of the job is too large", "")
		}
		meta := append([]byte(nil), m.body...)
		s.mu.Lock()
		c.meta = meta // for a start that is recorded later
		s.mu.Unlock()
		s.journal.append(entry{Kind: entryNoted, Job: m.job, Meta: meta})
		proc.SaveMeta(meta)
	case askSettle:
		w, err := decode[number](m.body)
		if err != nil {
			return err
		}
		proc.Settle(w.Seq)
		s.mu.Lock()
		left := s.jobs[m.job] == c
		s.mu.Unlock()
		if left {
			s.journal.append(entry{Kind: entrySettled, Job: m.job, Seq: w.Seq})
		}
	}
	return nil
}

// notePaused records whether a client has paused the capture of a job's output.
func (s *server) notePaused(c *servedJob, what backends.Control) backends.Control {
	s.mu.Lock()
	defer s.mu.Unlock()
	plain, _ := backends.Number(what)
	switch plain.(type) {
	case backends.Pause:
		c.paused = true
	case backends.Resume:
		c.paused = false
	}
	return what
}

// unpauseNth is the number of a control that no client has sent.
const unpauseNth = math.MaxUint64

// unpause resumes jobs whose client has gone.
func (s *server) unpause() {
	s.mu.Lock()
	var paused []backends.Process
	for _, c := range s.jobs {
		if c.paused && c.proc != nil {
			c.paused = false
			paused = append(paused, c.proc)
		}
	}
	s.mu.Unlock()
	for _, proc := range paused {
		proc.Do(backends.Sequenced{Control: backends.Resume{}, Nth: unpauseNth})
	}
}

// giveOrder sends the output order of two streams.
func (s *server) giveOrder(l *link, m message) error {
	order, err := s.store.Order(string(m.job))
	if err != nil {
		return refused(messages.OutputUnavailable, "order", "the keeper does not know in which order the job's streams were written", "read them one by one")
	}
	defer order.Close()
	data, err := order.Encoded()
	if err != nil {
		return err
	}
	s.say(l, message{kind: sayLog, gen: m.gen, job: m.job, body: encode(logState{Data: data, Whole: order.Whole()})})
	return nil
}

// giveLog sends the state of a log, and a descriptor if the client lacks the present
// one.
func (s *server) giveLog(l *link, m message) error {
	want, err := decode[wantLog](m.body)
	if err != nil {
		return err
	}
	if want.Order {
		return s.giveOrder(l, m)
	}
	small, ok := s.describeLog(m.job, want.Stream)
	if !ok {
		return refused(messages.OutputUnavailable, spill.EvictedReason, "the keeper has no log of the job's "+want.Stream.String()+" stream",
			"it is kept for as long as there is room")
	}
	answer := message{kind: sayLog, gen: m.gen, job: m.job}
	if !small.Whole {
		file, state, err := s.store.Export(string(m.job), uint8(want.Stream))
		if err != nil {
			if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
				return noRoom(err)
			}
			return refused(messages.OutputUnavailable, want.Stream.String(), "the log cannot be read now: "+err.Error(), "")
		}
		small.State, small.Data = state, nil
		if file != nil {
			if small.Place, err = placeOf(file); err != nil || small.Place == want.Have {
				_ = file.Close()
			} else {
				answer.file = file
			}
		}
	}
	answer.body = encode(small)
	l.send(answer)
	return nil
}

// placeOf identifies the file of a descriptor.
func placeOf(f *os.File) (place string, err error) {
	err = withFd(f, func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		place = fmt.Sprintf("%x:%x", st.Dev, st.Ino)
		return nil
	})
	return place, err
}

// list sends all jobs, in several messages.
func (s *server) list(l *link, m message) error {
	all, err := s.engine.Inventory(context.Background())
	if err != nil {
		return err
	}
	var some []inventoryReply
	size := 0
	for _, h := range all {
		s.mu.Lock()
		c := s.jobs[h.ID]
		s.mu.Unlock()
		if c == nil {
			continue // it is being forgotten
		}
		some = append(some, inventoryReply{InventoryJob: h, Separate: c.separate})
		if size += 2*len(h.Meta) + 2*len(h.Dir) + 128; size > maxPart/2 {
			s.say(l, message{kind: sayHeld, gen: m.gen, body: encode(some)})
			some, size = nil, 0
		}
	}
	s.say(l, message{kind: sayListed, gen: m.gen, body: encode(some)})
	return nil
}

// close ends all jobs and the keeper.
func (s *server) close(l *link, m message) {
	go s.end.Do(func() {
		left := s.engine.Close(false)
		s.mu.Lock()
		s.ending = true // later clients must wait for the next keeper
		s.mu.Unlock()
		s.say(l, message{kind: sayClosed, gen: m.gen, body: encode(left)})
		close(s.ended)
	})
}
