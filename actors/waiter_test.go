package actors

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// vigil plays the supervisor for a watch: it has the jobs, and their sinks.
type vigil struct {
	*stage
	by   *client
	jobs []messages.Record

	mu      sync.Mutex
	scribes map[messages.JobID]*scribe
	sinks   map[messages.JobID]*actor.PID
	refuse  map[messages.JobID]messages.Code // instead of output
	lose    int                              // so many questions
	asked   int
	stale   bool // that a job waits is not so any more
}

func onWatch(t *testing.T, play func(v *vigil)) {
	t.Helper()
	onStage(t, func(s *stage) {
		v := &vigil{
			stage: s, by: s.client(), scribes: map[messages.JobID]*scribe{}, sinks: map[messages.JobID]*actor.PID{},
			refuse: map[messages.JobID]messages.Code{},
		}
		s.react = v.receive
		play(v)
	})
}

func (v *vigil) receive(ctx actor.Context) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch m := ctx.Message().(type) {
	case messages.ReadOutput:
		v.output(ctx, m.Job, m)
	case messages.FollowOutput:
		v.output(ctx, m.Job, m)
	case messages.CheckInput:
		v.looked(ctx, m)
	case watchOutput, outputsWanted:
		for id, pid := range v.sinks {
			if pid.Equal(ctx.Sender()) {
				v.scribes[id].serve(ctx)
			}
		}
	}
}

func (v *vigil) output(ctx actor.Context, id messages.JobID, m messages.Refusable) {
	v.asked++
	switch no := v.refuse[id]; {
	case v.lose > 0:
		v.lose--
	case no != "":
		ctx.Respond(m.Refuse(&messages.Error{Code: no}))
	default:
		if v.sinks[id] == nil {
			v.sinks[id] = ctx.SpawnPrefix(sinkProps(v.deps, id), kindSink+string(id))
		}
		ctx.RequestWithCustomSender(v.sinks[id], ctx.Message(), ctx.Sender())
	}
}

// looked plays the look at a job's input.
func (v *vigil) looked(ctx actor.Context, m messages.CheckInput) {
	v.asked++
	switch no := v.refuse[m.Job]; {
	case v.lose > 0:
		v.lose--
	case no != "":
		ctx.Respond(m.Refuse(&messages.Error{Code: no}))
	default:
		seen := false
		for _, j := range v.jobs {
			seen = seen || j.ID == m.Job && j.WaitingForInput && !v.stale
		}
		ctx.Respond(messages.InputChecked{Waiting: seen})
	}
}

// job makes a job that runs and writes to streams.
func (v *vigil) job(id messages.JobID, streams ...messages.Stream) *scribe {
	if len(streams) == 0 {
		streams = []messages.Stream{messages.Merged}
	}
	j := messages.Record{ID: id, State: messages.Running, Started: time.Now()}
	for _, s := range streams {
		j.Output = append(j.Output, messages.StreamOutput{Stream: s})
	}
	v.jobs = append(v.jobs, j)
	v.scribes[id] = v.scribe(id, streams...)
	return v.scribes[id]
}

// change tells the watch how a job stands now.
func (v *vigil) change(id messages.JobID, how func(*messages.Record)) {
	for i := range v.jobs {
		if v.jobs[i].ID == id {
			how(&v.jobs[i])
			v.tell(lifecycle.Changed{Job: v.jobs[i]})
		}
	}
}

func finished(j *messages.Record) { j.State = messages.Finished }

// close ends the output of a job.
func (v *vigil) close(id messages.JobID) {
	v.scribes[id].end(v.sinks[id])
}

// await begins the wait, for all jobs of the vigil.
func (v *vigil) await(ask messages.WaitJobs) {
	v.t.Helper()
	ask.Jobs = nil
	for _, j := range v.jobs {
		ask.Jobs = append(ask.Jobs, j.ID)
	}
	if err := ask.Check(); err != nil {
		v.t.Fatal(err)
	}
	v.raise(waiterProps(v.deps, ask, v.jobs, v.by.pid), kindWatch)
}

func (v *vigil) silent() {
	v.t.Helper()
	same(v.t, v.by.take())
}

// over expects the one answer, with no look at the records in it.
func (v *vigil) over(want messages.WaitEnded) {
	v.t.Helper()
	got := v.by.take()
	if len(got) == 1 {
		if end, ok := got[0].(messages.WaitEnded); ok {
			if len(end.Jobs) != len(v.jobs) {
				v.t.Errorf("%d records, want %d", len(end.Jobs), len(v.jobs))
			}
			end.Jobs = nil
			got[0] = end
		}
	}
	same(v.t, got, want)
	v.gone()
}

// gone expects that the watch has left, with all its tails.
func (v *vigil) gone() {
	v.t.Helper()
	if left := of[childDone](v.heard.take()); len(left) != 1 {
		v.t.Fatalf("it said ended %d times, want once", len(left))
	}
	for _, id := range v.sys.ProcessRegistry.LocalPIDs.LocalPIDs {
		for key := range id.Items() {
			if strings.Contains(key, kindWatch) {
				v.t.Errorf("%s is left over", key)
			}
		}
	}
}

func met(ids ...messages.JobID) messages.WaitEnded {
	return messages.WaitEnded{Satisfied: true, Met: ids}
}

var hopeless = messages.WaitEnded{Impossible: true}

func TestWatchExit(t *testing.T) {
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.job("j2")
		v.await(messages.WaitJobs{})
		v.change("j1", finished)
		v.silent()
		v.change("j2", finished)
		v.over(met("j1", "j2"))
	})
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.job("j2")
		v.await(messages.WaitJobs{Any: true})
		v.change("j2", finished)
		v.over(met("j2"))
	})
	onWatch(t, func(v *vigil) { // it had ended before
		v.job("j1")
		finished(&v.jobs[0])
		v.await(messages.WaitJobs{Timeout: time.Hour})
		v.over(met("j1"))
	})
}

func TestWatchTimesOut(t *testing.T) {
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.await(messages.WaitJobs{Timeout: time.Hour})
		v.after(time.Hour - 1)
		v.silent()
		v.after(1)
		v.over(messages.WaitEnded{TimedOut: true})
	})
}

func TestWatchInput(t *testing.T) {
	until := messages.Condition{Kind: messages.UntilInput}
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.await(messages.WaitJobs{Condition: until})
		v.change("j1", func(j *messages.Record) { j.WaitingForInput = true })
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.await(messages.WaitJobs{Condition: until})
		v.change("j1", finished)
		v.over(hopeless)
	})
	for _, never := range []messages.Code{messages.NoInput, messages.JobFinished} {
		onWatch(t, func(v *vigil) { // at once
			v.job("j1")
			v.refuse["j1"] = never
			v.await(messages.WaitJobs{Condition: until})
			v.over(hopeless)
		})
	}
	onWatch(t, func(v *vigil) { // one of them may
		v.job("j1")
		v.job("j2")
		v.refuse["j1"] = messages.NoInput
		v.await(messages.WaitJobs{Condition: until, Any: true})
		v.silent()
		v.change("j2", func(j *messages.Record) { j.WaitingForInput = true })
		v.over(met("j2"))
	})
	onWatch(t, func(v *vigil) { // it has been given what it waited for, as its record does not know yet
		v.job("j1")
		v.stale = true
		v.jobs[0].WaitingForInput = true
		v.await(messages.WaitJobs{Condition: until})
		v.silent()
		v.change("j1", func(j *messages.Record) { j.WaitingForInput = false })
		v.silent()
		v.stale = false
		v.change("j1", func(j *messages.Record) { j.WaitingForInput = true })
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) { // it has only just started
		v.job("j1")
		v.refuse["j1"] = messages.Refused
		v.await(messages.WaitJobs{Condition: until})
		v.silent()
		delete(v.refuse, "j1")
		v.change("j1", func(*messages.Record) {})
		v.wantAsked(2)
	})
	onWatch(t, func(v *vigil) { // nobody can tell
		v.job("j1")
		v.refuse["j1"] = messages.Unsupported
		v.await(messages.WaitJobs{Condition: until})
		refusedWith(t, v.by.take(), messages.Unsupported)
		v.gone()
	})
}

// A job is looked at for as long as somebody waits, whatever becomes of a question.
func TestWatchGoesOnLookingForInput(t *testing.T) {
	until := messages.WaitJobs{Condition: messages.Condition{Kind: messages.UntilInput}}
	const asks = 20
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.await(until)
		v.after(asks * inputProbePause)
		v.wantAsked(asks + 1)
		v.change("j1", func(j *messages.Record) { j.WaitingForInput = true })
		v.over(met("j1"))
		v.after(asks * inputProbePause)
		v.wantAsked(asks + 2)
	})
	onWatch(t, func(v *vigil) { // it has not started, or is being moved
		v.job("j1")
		v.refuse["j1"] = messages.Refused
		v.await(until)
		v.after(asks*inputProbePause - 1)
		v.wantAsked(asks)
		v.silent()
	})
	onWatch(t, func(v *vigil) { // a question is lost with an actor
		v.job("j1")
		v.lose = 1
		v.await(until)
		v.after(inputProbeTimeout - 1)
		v.wantAsked(1)
		v.after(1)
		v.wantAsked(2)
	})
}

func (v *vigil) wantAsked(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked != n {
		v.t.Errorf("asked %d times, want %d", v.asked, n)
	}
}

func pattern(re string) messages.WaitJobs {
	return messages.WaitJobs{Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: re}}
}

func TestWatchPattern(t *testing.T) {
	onWatch(t, func(v *vigil) {
		c := v.job("j1")
		v.await(pattern(`listening on \d+`))
		c.write(messages.Merged, strings.Repeat("starting\n", 100_000)) // many pages
		c.write(messages.Merged, "liste")
		v.silent()
		c.write(messages.Merged, "ning on 80")
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) { // it was written long ago
		c := v.job("j1")
		c.write(messages.Merged, "ready\n"+strings.Repeat("x\n", 500_000))
		v.await(pattern(`ready`))
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) { // an end of the job is no end of its output
		c := v.job("j1")
		v.await(pattern(`ready`))
		v.change("j1", finished)
		v.silent()
		c.write(messages.Merged, "not yet")
		v.close("j1")
		v.over(hopeless)
	})
	onWatch(t, func(v *vigil) { // the last word counts
		c := v.job("j1")
		v.await(pattern(`ready`))
		if _, err := c.writers[messages.Merged].Append([]byte("ready")); err != nil {
			t.Fatal(err)
		}
		v.close("j1")
		v.over(met("j1"))
	})
}

func TestWatchPatternOfSeveral(t *testing.T) {
	onWatch(t, func(v *vigil) {
		a, b := v.job("j1"), v.job("j2")
		v.await(pattern(`ready`))
		a.write(messages.Merged, "ready")
		v.silent()
		b.write(messages.Merged, "ready")
		v.over(met("j1", "j2"))
	})
	onWatch(t, func(v *vigil) { // one that cannot is the end of a wait for all
		v.job("j1")
		v.job("j2")
		v.await(pattern(`ready`))
		v.close("j2")
		v.over(hopeless)
	})
	onWatch(t, func(v *vigil) { // and not of a wait for any
		a := v.job("j1")
		v.job("j2")
		ask := pattern(`ready`)
		ask.Any = true
		v.await(ask)
		v.close("j2")
		v.silent()
		a.write(messages.Merged, "ready")
		v.over(met("j1"))
		v.scribes["j1"].write(messages.Merged, "and nobody listens")
	})
}

// Who names no stream of a job that keeps them apart means either.
func TestWatchStreams(t *testing.T) {
	onWatch(t, func(v *vigil) {
		c := v.job("j1", messages.Stdout, messages.Stderr)
		v.await(pattern(`ready`))
		c.write(messages.Stdout, "rea")
		c.write(messages.Stderr, "dy")
		v.silent()
		c.write(messages.Stderr, "ready")
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) {
		c := v.job("j1", messages.Stdout, messages.Stderr)
		ask := pattern(`ready`)
		ask.Condition.Stream = messages.Stdout
		v.await(ask)
		c.write(messages.Stderr, "ready")
		v.silent()
		v.close("j1")
		v.over(hopeless)
	})
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.job("j2", messages.Stdout, messages.Stderr)
		ask := pattern(`ready`)
		ask.Condition.Stream = messages.Stderr
		v.await(ask)
		refusedWith(t, v.by.take(), messages.InvalidParams)
		v.gone()
	})
}

func TestWatchQuiet(t *testing.T) {
	ask := messages.WaitJobs{Condition: messages.Condition{Kind: messages.UntilQuiet, Quiet: time.Minute}}
	onWatch(t, func(v *vigil) {
		c := v.job("j1")
		v.await(ask)
		for range 5 {
			v.after(time.Minute - 1)
			c.write(messages.Merged, "x")
		}
		v.after(time.Minute - 1)
		v.silent()
		v.after(1)
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) { // one stream that speaks is enough
		c := v.job("j1", messages.Stdout, messages.Stderr)
		v.await(ask)
		v.after(time.Minute - 1)
		c.write(messages.Stderr, "x")
		v.after(time.Minute - 1)
		v.silent()
		v.after(1)
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) {
		c := v.job("j1")
		v.await(ask)
		c.write(messages.Merged, "x")
		v.after(time.Second)
		v.close("j1")
		v.over(hopeless)
	})
}

// A job that never ran has nothing to say.
func TestWatchOfAJobThatNeverRan(t *testing.T) {
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.jobs[0].State, v.jobs[0].Started = messages.Queued, time.Time{}
		v.scribes["j1"].mute = true
		v.await(pattern(`ready`))
		v.silent()
		v.change("j1", finished)
		v.over(hopeless)
	})
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.jobs[0].State, v.jobs[0].Started = messages.Finished, time.Time{}
		v.await(pattern(`ready`))
		v.over(hopeless)
	})
}

// A sink that dies, and a question that is lost with an actor, cost time only.
func TestWatchAsksAgain(t *testing.T) {
	onWatch(t, func(v *vigil) {
		c := v.job("j1")
		v.await(pattern(`ready`))
		v.sys.Root.Send(v.sinks["j1"], poison{})
		v.settle()
		c.write(messages.Merged, "ready")
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) {
		c := v.job("j1")
		v.lose = 2
		v.await(pattern(`ready`))
		c.write(messages.Merged, "ready")
		v.after(2*outputProbeTimeout - 1)
		v.silent()
		v.after(1)
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) { // a long silence costs a question now and then, and no answer is taken twice
		c := v.job("j1")
		v.await(pattern(`ready`))
		v.after(100 * outputProbeTimeout)
		if v.asked > 110 {
			t.Errorf("asked %d times", v.asked)
		}
		c.write(messages.Merged, "ready")
		v.over(met("j1"))
	})
}

func TestWatchIsRefusedOutput(t *testing.T) {
	onWatch(t, func(v *vigil) { // for a while: the job is being moved
		c := v.job("j1")
		v.refuse["j1"] = messages.NotFound
		v.await(pattern(`ready`))
		v.after(outputProbeRetries*outputProbePause - 1)
		v.mu.Lock()
		delete(v.refuse, "j1")
		v.mu.Unlock()
		c.write(messages.Merged, "ready")
		v.after(outputProbePause)
		v.over(met("j1"))
	})
	onWatch(t, func(v *vigil) { // for good
		v.job("j1")
		v.refuse["j1"] = messages.OutputUnavailable
		v.await(pattern(`ready`))
		v.after((outputProbeRetries + 1) * outputProbePause)
		refusedWith(t, v.by.take(), messages.OutputUnavailable)
		v.gone()
	})
}

// A tail that dies is told to the client: the wait cannot be kept.
func TestWatchLosesATail(t *testing.T) {
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.await(pattern(`ready`))
		for _, shard := range v.sys.ProcessRegistry.LocalPIDs.LocalPIDs {
			for id := range shard.Items() {
				if strings.Contains(id, kindTail) {
					v.sys.Root.Send(actor.NewPID(v.sys.Address(), id), poison{})
				}
			}
		}
		v.settle()
		refusedWith(t, v.by.take(), messages.Internal)
		v.gone()
	})
}

// The end of the node is told to who waits.
func TestWatchQuits(t *testing.T) {
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.await(pattern(`ready`))
		v.tell(abort{})
		refusedWith(t, v.by.take(), messages.ShuttingDown)
		v.gone()
	})
}

func TestWatchOfAClientThatLeft(t *testing.T) {
	onWatch(t, func(v *vigil) {
		v.job("j1")
		v.await(messages.WaitJobs{})
		v.by.leave()
		v.change("j1", finished)
		v.gone()
	})
}

func TestBadInputCheckAwait(t *testing.T) {
	one := []messages.JobID{"j1"}
	for _, c := range []struct {
		name string
		ask  messages.WaitJobs
		want messages.Code
	}{
		{"the default", messages.WaitJobs{Jobs: one}, ""},
		{"exit", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilExit}}, ""},
		{"input", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilInput}}, ""},
		{"no job", messages.WaitJobs{}, messages.InvalidParams},
		{"too many", messages.WaitJobs{Jobs: make([]messages.JobID, messages.MaxAwaited+1)}, messages.TooLarge},
		{"a negative timeout", messages.WaitJobs{Jobs: one, Timeout: -1}, messages.InvalidParams},
		{"an absurd timeout", messages.WaitJobs{Jobs: one, Timeout: messages.MaxDuration + 1}, messages.InvalidParams},
		{"a pattern", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: "x"}}, ""},
		{"no pattern", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilPattern}}, messages.InvalidParams},
		{"a bad pattern", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: "("}}, messages.InvalidParams},
		{"no stream", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: "x", Stream: 3}}, messages.InvalidParams},
		{"quiet", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilQuiet, Quiet: 1}}, ""},
		{"no time", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilQuiet}}, messages.InvalidParams},
		{"a port", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilPort, Port: 80}}, ""},
		{"no port", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: messages.UntilPort, Port: 1 << 16}}, messages.InvalidParams},
		{"the moon", messages.WaitJobs{Jobs: one, Condition: messages.Condition{Kind: "moon"}}, messages.InvalidParams},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.ask.Check()
			if (err == nil) != (c.want == "") || err != nil && err.Code != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
