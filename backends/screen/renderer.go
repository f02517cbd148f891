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

// Limits of the screens of a node.
const (
	// MaxLive bounds the emulators: each has a buffer of 4 MiB and two screens of 112 bytes
	// a cell. The least recently used one makes room.
	MaxLive = 8
	// idle is how long an unused emulator is kept.
	idle = 30 * time.Second
	// maxDrawing bounds concurrent drawing: jobs need the processors.
	maxDrawing = 2
	// maxWaiting bounds the requests that wait for a drawing slot.
	maxWaiting = 256
	// budget is how long one request may draw; the next request continues.
	budget = time.Second
	// window is how many bytes before the end of a log drawing starts. The maxModeScan bytes
	// before the end are scanned for modes only. They cover hours of a program that draws
	// each second, and take 0.1 to 0.3 s.
	window      = 512 << 10
	maxModeScan = 32 << 20
	// maxQueryScan is how many bytes at the end of a log are scanned for queries. A program
	// that has written more since its query does not wait for a reply.
	maxQueryScan = 64 << 10
	// leadIn is how many bytes before an offset a query may begin.
	leadIn = 64
	// readSize is the size of one read of a log.
	readSize = 64 << 10
)

// Renderer draws the screens of a node's jobs from their logs alone. So an emulator can
// be dropped at any time, and another process can draw it again. Renderer is safe for
// concurrent use. The zero value is ready.
type Renderer struct {
	mu      sync.Mutex
	jobs    map[messages.UID]*jobScreen
	uses    int
	waiting int
	slots   chan struct{}
	fresh   func(messages.Terminal) *emulator // nil: newEmulator
	within  time.Duration                     // 0: budget
}

// jobScreen holds the emulator of one job.
type jobScreen struct {
	mu    sync.Mutex // held while drawing
	used  int
	timer *time.Timer
	term  *emulator
	sizes []backends.SizeChange // changes of size; the last was applied
}

// Show draws a terminal and calls done once, from another goroutine. If the log grows
// faster than it can be drawn, At says how far the drawing came.
func (s *Renderer) Show(t backends.Terminal, done func(messages.ScreenText, *messages.Error)) {
	s.work(t, func(log spill.Log) *messages.Error {
		return s.draw(t, log, func(d *jobScreen) { done(d.text(log.State().Size), nil) })
	}, func(err *messages.Error) { done(messages.ScreenText{}, err) })
}

// Answer passes to done the replies to queries after the byte offset after. It calls
// done once, from another goroutine, and draws only if there was a query.
func (s *Renderer) Answer(t backends.Terminal, after int64, done func(backends.QueryReplies, *messages.Error)) {
	s.work(t, func(log spill.Log) *messages.Error {
		size := log.State().Size
		if asked, err := hasQuery(log, max(after, size-maxQueryScan), size); err != nil || !asked {
			if err == nil {
				done(backends.QueryReplies{Through: size, Bytes: size}, nil)
			}
			return unreadable(err)
		}
		return s.draw(t, log, func(d *jobScreen) {
			a := backends.QueryReplies{Through: max(after, d.term.sequences.at), Bytes: max(size, d.term.sequences.at)}
			for _, r := range d.term.Replies(after) {
				a.Data = append(a.Data, r.Data...)
			}
			done(a, nil)
		})
	}, func(err *messages.Error) { done(backends.QueryReplies{}, err) })
}

// Close drops all emulators. Later requests make new ones.
func (s *Renderer) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.jobs {
		s.drop(id)
	}
}

// work calls do with the log of a terminal, in a goroutine that holds a drawing slot.
func (s *Renderer) work(t backends.Terminal, do func(spill.Log) *messages.Error, failed func(*messages.Error)) {
	s.mu.Lock()
	if s.slots == nil {
		s.slots, s.jobs = make(chan struct{}, maxDrawing), map[messages.UID]*jobScreen{}
	}
	full := s.waiting >= maxWaiting
	if !full {
		s.waiting++
	}
	s.mu.Unlock()
	go func() {
		if full {
			failed(&messages.Error{
				Code: messages.ResourceExhausted, Reason: "screens", Message: fmt.Sprintf("limit of %d waiting screen requests reached", maxWaiting),
				Hint: "retry",
			})
			return
		}
		s.slots <- struct{}{}
		defer func() {
			<-s.slots
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

// draw draws a screen up to the end of its log and calls see. After a panic of the
// emulator it drops that emulator and returns an error.
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
		if shown { // the panic came from see
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
	d.term.flushAll()
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
		s.makeRoom()
		d = &jobScreen{}
		s.jobs[id] = d
	}
	s.uses++
	d.used = s.uses
	if d.timer != nil {
		d.timer.Stop()
	}
	used := d.used
	d.timer = time.AfterFunc(idle, func() { s.expire(id, d, used) })
	s.mu.Unlock()
	d.mu.Lock()
	return d
}

// expire drops an emulator that was not used since.
func (s *Renderer) expire(id messages.UID, d *jobScreen, used int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[id] == d && d.used == used {
		s.drop(id)
	}
}

// makeRoom drops the least recently used emulator if the limit is reached.
func (s *Renderer) makeRoom() {
	if len(s.jobs) < MaxLive {
		return
	}
	s.drop(slices.MinFunc(slices.Collect(maps.Keys(s.jobs)), func(a, b messages.UID) int { return cmp.Compare(s.jobs[a].used, s.jobs[b].used) }))
}

func (s *Renderer) drop(id messages.UID) {
	s.jobs[id].timer.Stop()
	delete(s.jobs, id)
}

// text returns the screen as text.
func (d *jobScreen) text(size int64) messages.ScreenText {
	at := d.term.Cursor()
	return messages.ScreenText{
		Lines: d.term.Text(), Cursor: messages.Cursor{Row: at.Row, Col: at.Col, Visible: at.Visible}, Terminal: d.term.Size(), Alternate: d.term.Alt(), Title: d.term.Title(), Keys: d.term.Keys(), Modes: d.term.Modes(),
		At: d.term.sequences.at, Bytes: max(size, d.term.sequences.at),
	}
}
