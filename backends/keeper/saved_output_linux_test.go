package keeper_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"troupe/backends"
	"troupe/backends/keeper"
	"troupe/messages"
	"troupe/spill"
)

// printed is a job of a keeper that dies, and what is left of its output.
type printed struct {
	name, text string
	separate   bool
	writes     [3]int64 // bytes of its streams
	read       []messages.Stream
	ends       bool // before its keeper
	elided     bool // its size is recorded, and no byte is there
	lost       bool

	id  messages.UID
	p   backends.Process
	ear *ear
}

func (j *printed) streams() []messages.Stream {
	if j.separate {
		return []messages.Stream{messages.Stdout, messages.Stderr}
	}
	return []messages.Stream{messages.Merged}
}

// start starts the job, and waits until it has written everything.
func (j *printed) start(t *testing.T, c *keeper.Client) {
	t.Helper()
	j.id, j.ear = newUID(), newEar(t)
	spec := shell(j.id, j.text)
	if j.separate {
		separately(&spec)
	}
	j.p = c.Start(spec, j.ear.facts)
	if j.ends {
		await[messages.TreeEnded](j.ear, 1)
		return
	}
	for n, s := range j.streams() {
		j.p.NotifyGrowth(s, j.writes[s]-1)
		await[messages.OutputGrew](j.ear, n+1)
	}
}

// kept are the sizes that its record must have.
func (j *printed) kept() (sizes messages.Sizes) {
	for _, s := range j.streams() {
		if !j.lost || j.elided || slices.Contains(j.read, s) {
			sizes[s] = j.writes[s]
		}
	}
	return sizes
}

// outcome returns what the next keeper says of the output.
func (j *printed) outcome(e *ear) (messages.Sizes, []messages.OutputState, []messages.Flag) {
	if j.ends {
		f := await[messages.ProcessExited](e, 1)
		return f.Sizes, f.Outputs, f.Flags
	}
	f := await[messages.ProcessLost](e, 1)
	return f.Sizes, f.Outputs, f.Flags
}

// hold opens a log and reads of it, as a client does that shows the output.
func hold(t *testing.T, p backends.Process, s messages.Stream) spill.Log {
	t.Helper()
	log, err := p.Output(s)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := log.ReadAt(make([]byte, 1), 0); n != 1 {
		t.Fatalf("a read of the output: %v", err)
	}
	return log
}

// What a client holds of a job's output when the keeper dies is stored by the next one,
// and outlives that, too. The record says what is gone.
func TestOutputOfALostJob(t *testing.T) {
	merged := []messages.Stream{messages.Merged}
	jobs := []*printed{
		{name: "read", text: "echo said; exec sleep 600", writes: [3]int64{5}, read: merged},
		{name: "read, almost too large for memory", text: "head -c 50000 /dev/zero; exec sleep 600", writes: [3]int64{50_000}, read: merged},
		{name: "not read", text: "echo said; exec sleep 600", writes: [3]int64{5}, lost: true},
		{name: "not read, in a file", text: "head -c 100000 /dev/zero; exec sleep 600", writes: [3]int64{100_000}},
		{name: "read, in a file", text: "head -c 100000 /dev/zero; exec sleep 600", writes: [3]int64{100_000}, read: merged},
		{
			name: "one of two read", text: "echo out; echo error >&2; exec sleep 600", separate: true,
			writes: [3]int64{0, 4, 6}, read: []messages.Stream{messages.Stdout}, lost: true,
		},
		{
			name: "both read", text: "echo out; head -c 9000 /dev/zero >&2; exec sleep 600", separate: true,
			writes: [3]int64{0, 4, 9000}, read: []messages.Stream{messages.Stdout, messages.Stderr},
		},
		{name: "ended, read", text: "head -c 9000 /dev/zero; exit 3", writes: [3]int64{9000}, read: merged, ends: true},
		{name: "ended, not read", text: "head -c 9000 /dev/zero; exit 3", writes: [3]int64{9000}, ends: true, elided: true, lost: true},
	}
	dir := keeperDir(t)
	endAll(t, dir)
	c := open(t, dir)
	_, pid := c.Keeper()
	var held []spill.Log
	want := map[string]string{}
	for _, j := range jobs {
		j.start(t, c)
		for _, s := range j.read {
			held = append(held, hold(t, j.p, s))
			want[j.name+s.String()] = read(t, j.p, s)
		}
	}
	kill(t, pid)
	for _, j := range jobs {
		e := j.ear
		if j.ends { // the owner has its end, and hears it again
			_, e = adopt(t, c, j.id)
		}
		j.check(t, e)
	}
	for _, log := range held {
		log.Close()
	}
	for _, j := range jobs {
		for _, s := range j.read {
			if got := read(t, j.p, s); got != want[j.name+s.String()] {
				t.Errorf("%s: the next keeper has %d bytes of %s, want %d", j.name, len(got), s, len(want[j.name+s.String()]))
			}
			until(t, "the file of "+j.name, func() bool {
				files, _ := filepath.Glob(filepath.Join(dir, "logs/keeper/sessions/*/"+string(j.id)+"."+s.String()+".log"))
				return len(files) == 1
			})
		}
	}
	_, pid = c.Keeper()
	c.Abandon()
	kill(t, pid)

	c = open(t, dir)
	for _, j := range jobs {
		p, e := adopt(t, c, j.id)
		j.check(t, e)
		for _, s := range j.read {
			if got := read(t, p, s); got != want[j.name+s.String()] {
				t.Errorf("%s: the third keeper has %d bytes of %s, want %d", j.name, len(got), s, len(want[j.name+s.String()]))
			}
		}
	}
	c.Close(false)
}

func (j *printed) check(t *testing.T, e *ear) {
	t.Helper()
	sizes, outputs, flags := j.outcome(e)
	if sizes != j.kept() || slices.Contains(flags, messages.FlagOutputLost) != j.lost {
		t.Errorf("%s: %v bytes, flags %v; want %v, lost %v", j.name, sizes, flags, j.kept(), j.lost)
	}
	gap := slices.ContainsFunc(outputs, func(o messages.OutputState) bool {
		return slices.Equal(o.Elided, []messages.OutputGap{{To: j.writes[o.Stream]}})
	})
	if gap != j.elided {
		t.Errorf("%s: %+v", j.name, outputs)
	}
}

// The log of a lost detached job is where the user has it. One that was removed is lost,
// and is not made again.
func TestOutputOfALostDetachedJob(t *testing.T) {
	for name, removed := range map[string]bool{"there": false, "removed": true} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out.log")
			f := openFleet(t, filepath.Join(t.TempDir(), "detached"))
			defer f.Close(false)
			e := newEar(t)
			p := f.Start(shell(newUID(), "echo said; exec sleep 600", detached, func(s *backends.Spec) { s.Log.File = file }), e.facts)
			started := await[messages.ProcessStarted](e, 1)
			p.NotifyGrowth(messages.Merged, 4)
			await[messages.OutputGrew](e, 1)
			defer hold(t, p, messages.Merged).Close()
			if removed {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			kill(t, parentOf(started.PID))
			lost := await[messages.ProcessLost](e, 1)
			if slices.Contains(lost.Flags, messages.FlagOutputLost) != removed || (lost.Sizes[messages.Merged] == 5) == removed {
				t.Errorf("%+v", lost)
			}
			if _, err := os.Lstat(file); (err != nil) != removed {
				t.Errorf("the log: %v", err)
			}
		})
	}
}
