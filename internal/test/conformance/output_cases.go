package conformance

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func outputCases() []testCase {
	return []testCase{
		{"merged streams keep their order", mergedStreams, 0},
		{"separate streams", separateStreams, separate},
		{"a missing stream", noSuchStream, 0},
		{"output is complete before the exit is reported", completeOutput, 0},
		{"a held pipe delays nothing", heldPipe, ownProcess},
		{"later output is captured", lateOutput, attributes},
		{"closed output is no exit", shutOutput, 0},
		{"one credit, one fact", oneCredit, 0},
		{"paused and resumed", pausedOutput, input},
		{"a log outlives its job", logOutlives, 0},
	}
}

func mergedStreams(b *bench) {
	r := b.start("both")
	f := r.over()
	if text := r.read(messages.Merged); text != "out\nerr\nmore\n" || f.Sizes != (messages.Sizes{13, 0, 0}) {
		b.Errorf("%q, %v", text, f.Sizes)
	}
}

func separateStreams(b *bench) {
	r := b.start("both", withStreams)
	f := r.over()
	out, err := r.read(messages.Stdout), r.read(messages.Stderr)
	if out != "out\nmore\n" || err != "err\n" || f.Sizes != (messages.Sizes{0, 9, 4}) {
		b.Errorf("%q, %q, %v", out, err, f.Sizes)
	}
}

func noSuchStream(b *bench) {
	for _, c := range []struct {
		change  func(*backends.Command)
		missing messages.Stream
		there   messages.Stream
	}{
		{func(*backends.Command) {}, messages.Stdout, messages.Merged},
		{withStreams, messages.Merged, messages.Stderr},
	} {
		if c.there == messages.Stderr && !b.Backend.Can().Separate {
			continue
		}
		r := b.start("hello", c.change)
		r.over()
		if _, err := r.process.Output(c.missing); !isError(err, messages.OutputUnavailable) {
			b.Errorf("%s: %v", c.missing, err)
		}
		r.read(c.there)
	}
}

// completeOutput checks that every byte of the main process is in the log when its exit
// is reported (F29).
func completeOutput(b *bench) {
	for range 5 {
		r := b.start("60 KB")
		f := r.result()
		log, err := r.process.Output(messages.Merged)
		if err != nil {
			b.Fatal(err)
		}
		if size := log.State().Size; size != 61440 || f.Sizes[messages.Merged] != size {
			b.Errorf("the log has %d bytes, the result says %v", size, f.Sizes)
		}
		log.Close()
		if text := r.read(messages.Merged); strings.Trim(text, " ") != "" {
			b.Error("the log holds something else")
		}
		r.over()
	}
}

// heldPipe checks that a child that holds the output delays nothing (F27), and that a
// stop ends it.
func heldPipe(b *bench) {
	before := time.Now()
	r := b.start("held")
	f := r.result()
	if took := time.Since(before); took > 30*time.Second {
		b.Errorf("the exit came after %s", took)
	}
	if !f.OutputOpen || f.Children != 1 && b.Reach != messages.Group || f.Status.Code != 0 || f.Sizes[messages.Merged] != 3 {
		b.Errorf("the result is %+v", f)
	}
	r.quiet(100*time.Millisecond, func(messages.ProcessFact) bool { return true })
	r.stop(messages.ByClient, time.Minute)
	if f := r.over(); f.Cause != (messages.Cause{}) {
		b.Errorf("it ended by itself, but the cause is %+v", f.Cause)
	}
}

func lateOutput(b *bench) {
	r := b.start("late")
	f := r.result()
	if !f.OutputOpen || f.Sizes[messages.Merged] != 4 {
		b.Errorf("the result is %+v", f)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		b.Fatal(err)
	}
	r.wrote(messages.Merged, "now\nlate\n")
	r.over()
	if c, _ := await[messages.OutputClosed](r.factRecorder); c.Sizes[messages.Merged] != 9 {
		b.Errorf("closed with %v", c.Sizes)
	}
}

// shutOutput checks that the end of the output is not the end of the process.
func shutOutput(b *bench) {
	if f := b.start("shut").over(); f.Status.Code != 4 || f.OutputOpen {
		b.Errorf("the result is %+v", f)
	}
}

func oneCredit(b *bench) {
	grew := func(f messages.ProcessFact) bool { _, ok := f.(messages.OutputGrew); return ok }
	r := b.start("slow")
	r.grown(messages.Merged, 0)
	n := count[messages.OutputGrew](r.all())
	r.quiet(150*time.Millisecond, grew)
	if got := count[messages.OutputGrew](r.all()); got != n || n != 1 {
		b.Errorf("%d facts for one credit", got)
	}
	r.grown(messages.Merged, 0) // at once: the log is longer
	r.over()

	// After the end there is nothing to wait for.
	r.process.NotifyGrowth(messages.Merged, 0)
	r.process.NotifyGrowth(messages.Merged, 1<<40)
	r.quiet(50*time.Millisecond, func(f messages.ProcessFact) bool { return !grew(f) })
}

// pausedOutput checks that a paused job blocks on its own output, and that nothing is
// lost.
func pausedOutput(b *bench) {
	r := b.start("burst", withInput).ready()
	r.process.Do(backends.Pause{})
	r.process.Do(backends.Input{Data: []byte("go\n")})
	await[messages.InputWritten](r.factRecorder)
	r.quiet(200*time.Millisecond, func(messages.ProcessFact) bool { return true })
	if n := count[messages.ProcessExited](r.all()); n != 0 && b.Real {
		b.Error("a job with 200 KB to write went on")
	}
	r.process.Do(backends.Resume{})
	if f := r.over(); f.Sizes[messages.Merged] != 200006 {
		b.Errorf("%v bytes", f.Sizes)
	}
}

func logOutlives(b *bench) {
	r := b.start("hello")
	r.begun()
	log, err := r.process.Output(messages.Merged)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	r.over()
	if s := log.State(); !s.Closed || s.Size != 6 {
		b.Errorf("the state of a log opened before the end: %+v", s)
	}
	r.process.Settle(lastNumber(r.all()))
	p := make([]byte, 100)
	if n, err := log.ReadAt(p, 1); n != 5 || err != io.EOF || string(p[:n]) != "ello\n" {
		b.Errorf("read %q, %v", p[:n], err)
	}
}
