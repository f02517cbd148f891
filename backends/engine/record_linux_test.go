package engine

import (
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"troupe/messages"
)

// diary is a journal that looks at the world when it is given a record.
type diary struct {
	mu      sync.Mutex
	records []Record
	states  []string      // of the main process at an exit
	forgot  chan struct{} // told when a job is forgotten; nil: nobody waits
}

func (d *diary) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records, d.states = nil, nil
}

func (d *diary) note(r Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records = append(d.records, r)
	if r.Kind == RecordForgotten {
		select {
		case d.forgot <- struct{}{}:
		default:
		}
	}
	if r.Kind == RecordExited {
		d.states = append(d.states, stateOf(r.PID))
	}
}

// stateOf is the letter of a process, "" if there is none.
func stateOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))[0]
}

// A start is recorded before it is told, an exit while the process is a zombie, a
// result before it is told, and at last that the job is forgotten.
func TestRecords(t *testing.T) {
	d := &diary{forgot: make(chan struct{}, 1)}
	r := newRig(t, func(o *Options) { o.Journal = d.note })
	for text, want := range map[string]messages.ExitStatus{
		"exit 3": {Code: 3}, "kill -KILL $$": {Signal: "KILL", Number: 9}, "kill -TERM $$": {Signal: "TERM", Number: 15},
	} {
		d.clear()
		e, f := r.run(text)
		e.proc.Settle(f.Seq + 2)
		<-d.forgot // by who comes last: Settle, or who told the end
		d.mu.Lock()
		var kinds []RecordKind
		for _, x := range d.records {
			kinds = append(kinds, x.Kind)
		}
		if !reflect.DeepEqual(kinds, []RecordKind{RecordStarting, RecordStarted, RecordExited, RecordDrained, RecordForgotten}) {
			t.Errorf("%q: recorded %v", text, kinds)
		} else {
			start, exit, drained := d.records[1], d.records[2], d.records[3]
			if start.PID == 0 || start.StartTime == 0 || start.Isolation == "" || exit.PID != start.PID || exit.Status != want || drained.Status != want ||
				drained.Seq != f.Seq || drained.Rusage != f.Rusage || exit.Rusage.MaxRSS != f.Rusage.MaxRSS { // the times of a zombie are rounded at each look
				t.Errorf("%q: %+v", text, d.records)
			}
		}
		if len(d.states) != 1 || d.states[0] != "Z" {
			t.Errorf("%q: at its exit the process was %q", text, d.states)
		}
		d.mu.Unlock()
	}
}

// A job that was restored is adopted, settled and forgotten like any other.
func TestRestore(t *testing.T) {
	d := &diary{}
	r := newRig(t, func(o *Options) { o.Journal, o.After = d.note, 100 })
	started := messages.ProcessStarted{PID: 7, StartTime: 8}
	r.e.Restore(Restored{ID: "A", Meta: []byte("m"), Started: &started, Facts: []messages.ProcessFact{
		messages.ProcessExited{Seq: 5, Status: messages.ExitStatus{Code: 3}}, messages.OutputClosed{}, messages.TreeEnded{},
	}})
	r.e.Restore(Restored{ID: "B", Facts: []messages.ProcessFact{messages.ProcessLost{}}})
	held, err := r.e.Inventory(t.Context())
	if err != nil || len(held) != 2 || held[0].Live || held[1].Live {
		t.Errorf("%+v, %v", held, err)
	}
	var mu sync.Mutex
	var heard []messages.ProcessFact
	more := make(chan struct{}, 16)
	p, err := r.e.Adopt("A", func(f messages.ProcessFact) {
		mu.Lock()
		heard = append(heard, f)
		mu.Unlock()
		more <- struct{}{}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		<-more
	}
	mu.Lock()
	want := []messages.ProcessFact{
		started, messages.ProcessExited{Seq: 5, Status: messages.ExitStatus{Code: 3}}, messages.OutputClosed{Seq: 101}, messages.TreeEnded{Seq: 102},
	}
	if !reflect.DeepEqual(heard, want) {
		t.Errorf("heard %+v, want %+v", heard, want)
	}
	mu.Unlock()
	p.Settle(102)
	if _, err := r.e.Adopt("A", func(messages.ProcessFact) {}); err == nil {
		t.Error("settled, and known")
	}
	if n := len(d.records); n != 1 || d.records[0].Kind != RecordForgotten || d.records[0].Job != "A" {
		t.Errorf("recorded %+v", d.records)
	}
}
