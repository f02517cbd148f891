package screen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// What the screens of a node may cost.
const (
	// MaxLive is how many emulators there are: each has a buffer of 4 MiB and two
	// screens of 112 bytes a cell. The one that was used least recently makes room.
	MaxLive = 8
	// idle is how long an emulator stays for the next question.
	idle = 30 * time.Second
	// maxDrawing is how many are drawn at a time: a processor is for the jobs.
	maxDrawing = 2
	// maxWaiting bounds those who wait for that.
	maxWaiting = 256
	// budget is how long one request may draw; what is left is drawn for the next one.
	budget = time.Second
	// window is how far behind the end of a log a screen is drawn from; before it only
	// the modes are looked for, in the last maxSkim bytes: some hours of a program that
	// paints each second, of which that takes 0.1 to 0.3 s.
	window  = 512 << 10
	maxSkim = 32 << 20
	// maxAsking is how much of the end of a log is looked at for questions: whoever
	// has written more since he asked does not wait for an answer.
	maxAsking = 64 << 10
	// leadIn is how far before a place a question may begin.
	leadIn = 64
	// readSize is how much of a log is read at a time.
	readSize = 64 << 10
)

// Renderer draws the screens of a node's jobs from their logs, which are all it needs:
// what it has of a job can be given up at any time, and is made again, by another
// process, too. It is safe for concurrent use. The zero value is ready.
type Renderer struct {
	mu      sync.Mutex
	jobs    map[messages.UID]*jobScreen
	uses    int
	waiting int
	turns   chan struct{}
	fresh   func(messages.Terminal) *emulator // nil: newEmulator
	within  time.Duration                     // 0: budget
}

// jobScreen is one emulator.
type jobScreen struct {
	mu    sync.Mutex // held by who draws
	used  int
	timer *time.Timer
	term  *emulator
	sizes []backends.SizeChange // of which the last was applied
}

// Show tells what a terminal shows, once and from a goroutine of its own. Of a log
// that grows faster than it can be drawn it tells how far it came (At).
func (s *Renderer) Show(t backends.Terminal, told func(messages.ScreenText, *messages.Error)) {
	s.work(t, func(log spill.Log) *messages.Error {
		return s.draw(t, log, func(d *jobScreen) { told(d.text(log.State().Size), nil) })
	}, func(err *messages.Error) { told(messages.ScreenText{}, err) })
}

// Answer tells what a terminal answers to what was asked behind the byte after, once
// and from a goroutine of its own. It draws nothing unless something was asked.
func (s *Renderer) Answer(t backends.Terminal, after int64, told func(backends.QueryReplies, *messages.Error)) {
	s.work(t, func(log spill.Log) *messages.Error {
		size := log.State().Size
		if asked, err := asks(log, max(after, size-maxAsking), size); err != nil || !asked {
			if err == nil {
				told(backends.QueryReplies{Through: size, Bytes: size}, nil)
			}
			return unreadable(err)
		}
		return s.draw(t, log, func(d *jobScreen) {
			a := backends.QueryReplies{Through: max(after, d.term.sieve.at), Bytes: max(size, d.term.sieve.at)}
			for _, r := range d.term.Replies(after) {
				a.Data = append(a.Data, r.Data...)
			}
			told(a, nil)
		})
	}, func(err *messages.Error) { told(backends.QueryReplies{}, err) })
}

// Close gives up all emulators; what is asked behind it makes new ones.
func (s *Renderer) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.jobs {
		s.drop(id)
	}
}

// Live is how many emulators there are.
func (s *Renderer) Live() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs)
}

// work does something with the log of a terminal in a goroutine, in its turn.
func (s *Renderer) work(t backends.Terminal, do func(spill.Log) *messages.Error, failed func(*messages.Error)) {
	s.mu.Lock()
	if s.turns == nil {
		s.turns, s.jobs = make(chan struct{}, maxDrawing), map[messages.UID]*jobScreen{}
	}
	full := s.waiting >= maxWaiting
	if !full {
		s.waiting++
	}
	s.mu.Unlock()
	go func() {
		if full {
			failed(&messages.Error{
				Code: messages.ResourceExhausted, Reason: "screens", Message: fmt.Sprintf("%d requests wait for screens to be drawn, which is all the node takes", maxWaiting),
				Hint: "ask again",
			})
			return
		}
		s.turns <- struct{}{}
		defer func() {
			<-s.turns
			s.mu.Lock()
			s.waiting--
			s.mu.Unlock()
		}()
		log, err := t.Log()
		if err != nil {
			failed(unreadable(err))
			return
		}
		defer log.Close()
		if err := do(log); err != nil {
			failed(err)
		}
	}()
}

func unreadable(err error) *messages.Error {
	if err == nil {
		return nil
	}
	return &messages.Error{Code: messages.OutputUnavailable, Reason: "log", Message: "the output of the job cannot be read: " + err.Error(), Hint: "see the file the job names, if it has one"}
}

// draw brings the screen of a terminal up to its log and shows it to see. A fault of
// the emulator costs it its life, and nobody else's.
func (s *Renderer) draw(t backends.Terminal, log spill.Log, see func(*jobScreen)) (failed *messages.Error) {
	d := s.take(t.ID)
	defer d.mu.Unlock()
	shown := false
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		d.term = nil
		if shown { // what see does is no drawing
			panic(fault)
		}
		failed = &messages.Error{
			Code: messages.OutputUnavailable, Reason: "screen", Message: fmt.Sprintf("the output cannot be drawn as a screen: %v", fault), Hint: "read it as text: troupe logs",
		}
	}()
	end := time.Now().Add(cmp.Or(s.within, budget))
	if err := d.catchUp(t, log, s.make, func() bool { return time.Now().Before(end) }); err != nil {
		d.term = nil
		return unreadable(err)
	}
	d.term.look()
	shown = true
	see(d)
	return nil
}

func (s *Renderer) make(size messages.Terminal) *emulator {
	if s.fresh != nil {
		return s.fresh(size)
	}
	return newEmulator(size, 0)
}

// take finds or makes the emulator of a job, and locks it.
func (s *Renderer) take(id messages.UID) *jobScreen {
	s.mu.Lock()
	d := s.jobs[id]
	if d == nil {
		s.room()
		d = &jobScreen{}
		s.jobs[id] = d
	}
	s.uses++
	d.used = s.uses
	if d.timer != nil {
		d.timer.Stop()
	}
	used := d.used
	d.timer = time.AfterFunc(idle, func() { s.rest(id, d, used) })
	s.mu.Unlock()
	d.mu.Lock()
	return d
}

// rest gives an emulator up that nobody has used since.
func (s *Renderer) rest(id messages.UID, d *jobScreen, used int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[id] == d && d.used == used {
		s.drop(id)
	}
}

// room gives up the emulator that was used least recently, if there are many.
func (s *Renderer) room() {
	if len(s.jobs) < MaxLive {
		return
	}
	s.drop(slices.MinFunc(slices.Collect(maps.Keys(s.jobs)), func(a, b messages.UID) int { return cmp.Compare(s.jobs[a].used, s.jobs[b].used) }))
}

func (s *Renderer) drop(id messages.UID) {
	s.jobs[id].timer.Stop()
	delete(s.jobs, id)
}

// text is what is shown.
func (d *jobScreen) text(size int64) messages.ScreenText {
	at := d.term.Cursor()
	return messages.ScreenText{
		Lines: d.term.Text(), Row: at.Row, Col: at.Col, Visible: at.Visible, Size: d.term.Size(), Alternate: d.term.Alt(), Title: d.term.Title(), Keys: d.term.Keys(), Modes: d.term.Modes(),
		At: d.term.sieve.at, Bytes: max(size, d.term.sieve.at),
	}
}
