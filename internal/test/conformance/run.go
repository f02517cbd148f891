package conformance

import (
	"errors"
	"io"
	"slices"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// run is one job of a test.
type run struct {
	*bench
	command backends.Command
	process backends.Process
	*factRecorder
}

// start starts a program as a job of the executor, after applying the changes to its
// command.
func (b *bench) start(program string, changes ...func(*backends.Command)) *run {
	b.Helper()
	p, ok := programs()[program]
	if !ok {
		b.Fatalf("unknown program %q", program)
	}
	if b.Terminals && len(p.Argv) == 0 {
		p = b.typed(p)
	}
	return b.startAsIs(p, changes...)
}

func (b *bench) startProgram(p Program, changes ...func(*backends.Command)) *run {
	b.Helper()
	if b.Terminals {
		p = b.typed(p)
	}
	return b.startAsIs(p, changes...)
}

func (b *bench) startAsIs(p Program, changes ...func(*backends.Command)) *run {
	b.Helper()
	c := backends.Command{
		ID: b.id(), Job: "j1", Text: p.Text, Argv: p.Argv, Dir: b.dir, Env: b.env(), Umask: -1,
		Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams}, Grace: time.Minute, Meta: []byte("meta"),
	}
	for _, change := range changes {
		change(&c)
	}
	if err := b.place.Check(c); err != nil {
		b.Fatalf("the command is refused: %v", err)
	}
	r := &run{bench: b, command: c, factRecorder: newFactRecorder(b)}
	r.process = b.place.Start(c, r.facts)
	return r
}

// ready waits until the program has written "ready".
func (r *run) ready() *run {
	r.Helper()
	r.wrote(messages.Merged, "ready\n")
	return r
}

// wrote waits until a stream begins with text.
func (r *run) wrote(s messages.Stream, text string) {
	r.Helper()
	r.begun()
	have := int64(0)
	for {
		if got := r.read(s); len(got) >= len(text) {
			if got[:len(text)] != text {
				r.Fatalf("%s begins with %q, want %q", s, got, text)
			}
			return
		} else {
			have = int64(len(got))
		}
		r.grown(s, have)
	}
}

// begun waits for the start; after it the output can be opened.
func (r *run) begun() {
	r.Helper()
	await[messages.ProcessStarted](r.factRecorder)
}

// grown spends one credit: it returns once the log is longer than from.
func (r *run) grown(s messages.Stream, from int64) {
	r.Helper()
	seen := len(r.all())
	r.process.NotifyGrowth(s, from)
	r.until("the growth of "+s.String(), func(heard []messages.ProcessFact) bool {
		return slices.ContainsFunc(heard[seen:], func(f messages.ProcessFact) bool {
			g, ok := f.(messages.OutputGrew)
			return ok && g.Stream == s && g.Size > from
		})
	})
}

// read returns all of a stream so far.
func (r *run) read(s messages.Stream) string {
	r.Helper()
	log, err := r.process.Output(s)
	if err != nil {
		r.Fatalf("cannot open the output %s: %v", s, err)
	}
	defer log.Close()
	text, err := io.ReadAll(io.NewSectionReader(log, 0, log.State().Size))
	if err != nil {
		r.Fatalf("cannot read the output %s: %v", s, err)
	}
	return string(text)
}

// result waits for the exit.
func (r *run) result() messages.ProcessExited {
	r.Helper()
	f, _ := await[messages.ProcessExited](r.factRecorder)
	return f
}

// over waits for the last fact and checks the order of all facts.
func (r *run) over() messages.ProcessExited {
	r.Helper()
	r.until("the end", func(heard []messages.ProcessFact) bool {
		return count[messages.OutputClosed](heard) > 0 && count[messages.TreeEnded](heard) > 0
	})
	r.inOrder()
	return r.result()
}

// inOrder checks that facts came once, in order, and that none follows the end except
// an OutputGrew that crossed it.
func (r *run) inOrder() {
	r.Helper()
	heard := r.all()
	place := map[string]int{}
	seq, end := uint64(0), 0
	for i, f := range heard {
		if _, grew := f.(messages.OutputGrew); !grew {
			end = i
		}
		name, n := "", uint64(0)
		switch f := f.(type) {
		case messages.ProcessStarted:
			name = "started"
		case messages.MainExited:
			name = "main"
		case messages.ProcessExited:
			name, n = "exited", f.Seq
		case messages.OutputClosed:
			name, n = "closed", f.Seq
		case messages.TreeEnded:
			name, n = "ended", f.Seq
		default:
			continue
		}
		if _, twice := place[name]; twice {
			r.Errorf("%T was delivered twice: %s", f, show(heard))
		}
		place[name] = i
		if n > 0 && n <= seq {
			r.Errorf("number %d came after %d: %s", n, seq, show(heard))
		}
		seq = max(seq, n)
	}
	main, hasMain := place["main"]
	last := max(place["closed"], place["ended"])
	if place["started"] != 0 || hasMain && main > place["exited"] || min(place["closed"], place["ended"]) < place["exited"] || last != end {
		r.Errorf("out of order: %s", show(heard))
	}
}

// stop requests a stop.
func (r *run) stop(by messages.Party, grace time.Duration) time.Time {
	now := time.Now()
	r.process.Stop(messages.Cause{By: by, Reason: "test"}, grace)
	return now
}

// gone waits for the end of a stopped job and checks its cause.
func (r *run) gone(by messages.Party) messages.ProcessExited {
	r.Helper()
	f := r.over()
	if f.Cause.By != by || f.Cause.Reason != "test" {
		r.Errorf("ended by %+v, want %s", f.Cause, by)
	}
	if len(f.Survivors) > 0 {
		r.Errorf("survivors: %+v", f.Survivors)
	}
	return f
}

// adopt adopts a job, replacing its owner.
func (b *bench) adopt(place backends.Executor, id messages.UID) (*run, error) {
	r := &run{bench: b, command: backends.Command{ID: id}, factRecorder: newFactRecorder(b)}
	var err error
	r.process, err = place.Adopt(id, r.facts)
	return r, err
}

func isError(err error, code messages.Code) bool {
	return errors.Is(err, &messages.Error{Code: code})
}

func withStreams(c *backends.Command) { c.Stdio.Streams = messages.SeparateStreams }

func withInput(c *backends.Command) { c.Stdio.Stdin = messages.StdinPipe }
