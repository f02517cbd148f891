package supervision_test

import (
	"fmt"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// op is one thing that may happen, and how often it does.
type op struct {
	weight int
	play   func(x *explorer)
}

// ops are all of them.
var ops = []op{
	{24, (*explorer).pass},
	{22, func(x *explorer) { x.run() }},
	{2, (*explorer).runByTheDoor},
	{3, func(x *explorer) { x.request(messages.PromoteCommand{Job: x.job(), Keep: x.chance(30)}) }},
	{3, (*explorer).changeDeadline},
	{5, func(x *explorer) { x.request(messages.StopCommand{Job: x.job(), Grace: x.grace()}) }},
	{1, func(x *explorer) { x.request(messages.StopCommand{Scope: x.scope(), Grace: x.grace()}) }},
	{1, func(x *explorer) {
		x.request(messages.StopCommand{Scope: x.scope(), Session: x.session(), Grace: x.grace()})
	}},
	{3, func(x *explorer) { x.request(messages.HandOver{Job: x.job(), To: x.scope()}) }},
	{2, func(x *explorer) { x.request(messages.WriteInput{Job: x.job(), Data: []byte("hello\n")}) }},
	{1, func(x *explorer) { x.request(messages.CloseInput{Job: x.job()}) }},
	{1, func(x *explorer) { x.request(messages.CheckInput{Job: x.job(), For: time.Second}) }},
	{1, func(x *explorer) { x.request(messages.PauseOutput{Job: x.job(), Hold: x.chance(50)}) }},
	{1, func(x *explorer) {
		x.request(messages.SignalCommand{Job: x.job(), Signal: pick(x, "INT", "CONT", "KILL"), Tree: x.chance(50)})
	}},
	{2, func(x *explorer) {
		x.request(messages.CloseSession{Scope: x.scope(), Session: x.session(), Grace: x.grace()})
	}},
	{2, func(x *explorer) { x.request(messages.CloseScope{Path: x.scope(), Grace: x.grace()}) }},
	{2, func(x *explorer) { x.request(messages.ReleaseScope{Path: x.scope(), Grace: x.grace()}) }},
	{1, func(x *explorer) {
		x.request(messages.OpenScope{Path: x.scope(), Quota: messages.ScopeQuota{Jobs: x.rng.IntN(4), Sessions: x.rng.IntN(3)}})
	}},
	{1, func(x *explorer) { x.request(messages.OpenSession{Scope: x.scope(), Session: x.session()}) }},
	{4, (*explorer).list},
	{3, (*explorer).wait},
	{3, func(x *explorer) {
		x.request(messages.FollowOutput{Job: x.job(), From: int64(x.rng.IntN(12)), Stream: pick(x, messages.Merged, messages.Merged, messages.Stdout)})
	}},
	{3, func(x *explorer) {
		x.request(messages.ReadOutput{Job: x.job(), View: messages.View{Kind: pick(x, messages.ViewTail, messages.ViewPage, messages.ViewSize, messages.ViewRange)}})
	}},
	{1, func(x *explorer) { x.request(messages.ReadScreen{Job: x.job()}) }},
	{1, func(x *explorer) {
		x.request(messages.ResizeTerminal{Job: x.job(), Size: messages.Terminal{Rows: 30, Cols: 90}})
	}},
	{1, func(x *explorer) { x.request(messages.ClaimTerminal{Job: x.job(), By: pick(x, "v", "w")}) }},
	{1, func(x *explorer) {
		x.request(messages.ReleaseTerminal{Job: x.job(), By: pick(x, "v", "w"), Through: int64(x.rng.IntN(12))})
	}},
	{3, (*explorer).hear},
	{2, (*explorer).acknowledgeSome},
	{1, (*explorer).subscriberGoes},
	{1, (*explorer).clientGoes},
	{3, (*explorer).playProcess},
	{2, (*explorer).shellDies},
	{4, (*explorer).crashNow},
	{6, (*explorer).crashLater},
	{1, (*explorer).journalFailsForAWhile},
	{1, (*explorer).engineForgets},
	{3, (*explorer).daemonDies},
}

// pass lets time pass.
func (x *explorer) pass() {
	d := pick(x, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond, time.Second, time.Second, 3*time.Second, 10*time.Second, time.Minute)
	x.note("%s pass", d)
	x.after(d)
}

func (x *explorer) scope() messages.ScopePath {
	return pick[messages.ScopePath](x, "main", "a", "a/b", "a/b/c", "c")
}

func (x *explorer) session() messages.SessionID {
	return pick[messages.SessionID](x, "", "", "s", "t", shellOne, shellTwo)
}

// Sessions that are mostly live shells: who names them without a plan, and is the
// first, opens them on pipes.
const (
	shellOne messages.SessionID = "bash"
	shellTwo messages.SessionID = "zsh"
)

// opens makes a run of a session that may be a live shell one that opens it.
func (x *explorer) opens(r *messages.RunCommand) {
	if r.Session != shellOne && r.Session != shellTwo || x.chance(10) {
		return
	}
	r.Open = &messages.SessionPlan{Backend: pick(x, "", "", messages.BackendShell)}
	if r.OnExit == messages.KeepChildren && x.chance(90) {
		r.OnExit = ""
	}
	if x.chance(20) {
		r.Dir = pick(x, "/a", "/b")
	}
}

// shellDies ends a live shell, with the command in it.
func (x *explorer) shellDies() {
	shells := x.engine.Shells()
	if len(shells) == 0 {
		return
	}
	p := pick(x, shells...)
	x.note("%s of session %s dies", p.ID, p.Place.Session)
	p.ExitSignal("KILL")
}

func (x *explorer) grace() time.Duration {
	return pick(x, 0, -1, time.Second, 5*time.Second)
}

// job names a job as clients do: mostly one of the youngest, sometimes none.
func (x *explorer) job() messages.JobID {
	n := len(x.runs)
	switch {
	case n == 0 || x.chance(5):
		return pick[messages.JobID](x, "j1", "nothing")
	case x.chance(20):
		return pick[messages.JobID](x, "build", "serve")
	case x.chance(20):
		return messages.JobID(uid(1 + x.rng.IntN(n)))
	}
	return messages.JobID(fmt.Sprintf("j%d", max(1, n-x.rng.IntN(4))))
}

// uid is the ULID of the nth run.
func uid(n int) messages.UID { return messages.UID(fmt.Sprintf("01EXP%021d", n)) }

func (x *explorer) command() messages.RunCommand {
	r := messages.RunCommand{
		UID: uid(len(x.runs) + 1), Scope: x.scope(), Session: x.session(), Program: messages.Program{Text: x.born()},
		Grace: x.grace(), OnExit: pick[messages.OnExit](x, "", "", "", messages.KillChildren, messages.KeepChildren),
		Stdio: messages.Stdio{Stdin: pick(x, messages.StdinNull, messages.StdinPipe)}, Labels: messages.Labels{Name: pick(x, "", "", "build", "serve")},
	}
	if x.chance(30) {
		r.Mode = messages.ModeAsync
	}
	if x.chance(50) {
		r.PromoteAfter = pick(x, time.Millisecond, 100*time.Millisecond, time.Second, 10*time.Second)
	}
	if x.chance(40) {
		r.Timeout = pick(x, 10*time.Millisecond, time.Second, 5*time.Second, time.Minute)
	}
	switch {
	case x.chance(20):
		r.Streams = messages.SeparateStreams
	case x.chance(15):
		r.Terminal = messages.Terminal{Rows: 24, Cols: 80}
	}
	if x.chance(20) {
		r.OnFinish = pick(x, []string{there}, []string{elsewhere}, []string{there, elsewhere})
	}
	x.opens(&r)
	return r
}

// run asks for a command, sometimes under a key that was used before.
func (x *explorer) run() {
	r := x.command()
	if x.chance(15) {
		r.Key = pick(x, "k1", "k2")
		if first := x.first(r.Key); first != nil && x.chance(70) && !x.removed {
			r = *first
		}
		x.keyed[r.Key] = true
	}
	x.note("%s %s", r.Text, x.lives[r.Text])
	x.runs = append(x.runs, x.request(r))
}

// first is the first request with a key.
func (x *explorer) first(key string) *messages.RunCommand {
	for _, c := range x.runs {
		if r := c.request.(messages.RunCommand); r.Key == key {
			return &r
		}
	}
	return nil
}

func (x *explorer) runByTheDoor() {
	r := x.command()
	r.UID = ""
	patience := pick(x, time.Second, time.Minute, 24*time.Hour)
	x.note("Node.Run, for %s: %s", patience, say(r))
	x.call(r, patience)
}

func (x *explorer) changeDeadline() {
	r := messages.ChangeDeadline{Job: x.job()}
	switch x.rng.IntN(3) {
	case 0:
		r.None = true
	case 1:
		r.Extend = time.Second
	case 2:
		r.After = pick(x, time.Millisecond, time.Second, time.Minute)
	}
	x.request(r)
}

// list asks what the supervisor knows by heart.
func (x *explorer) list() {
	x.removed = x.removed || x.chance(10)
	if x.removed && x.chance(20) {
		x.request(messages.RemoveJob{Job: x.job()})
		return
	}
	x.request(pick[any](x,
		messages.ListJobs{Scope: x.scope(), Finished: x.chance(50)}, messages.FindJob{Job: x.job()}, messages.ListSessions{Recent: x.chance(50)}, messages.ListScopes{},
		messages.AnnounceTask{ID: "t", Scope: "a", Kind: "agent"},
		messages.UpdateTask{ID: "t", Scope: "a", Ended: true},
	))
}

func (x *explorer) wait() {
	r := messages.WaitJobs{Jobs: []messages.JobID{x.job(), x.job()}, Any: x.chance(50), Timeout: pick(x, 0, time.Second, time.Minute)}
	r.Condition = pick(x, messages.Condition{}, messages.Condition{Kind: messages.UntilPattern, Pattern: "ready"},
		messages.Condition{Kind: messages.UntilQuiet, Quiet: 2 * time.Second}, messages.Condition{Kind: messages.UntilInput})
	x.request(r)
}

// playProcess has a process do what its script does not say.
func (x *explorer) playProcess() {
	living := x.living()
	if len(living) == 0 {
		return
	}
	p := pick(x, living...)
	switch x.rng.IntN(5) {
	case 0:
		x.note("%s awaits input: %v", p.Text(), p.AwaitInput(true))
	case 1:
		x.note("%s has its output collected for 5 s", p.Text())
		p.HoldDrain(true)
		time.AfterFunc(5*time.Second, func() { p.HoldDrain(false) })
	case 2:
		x.note("%s has no room for its output for 5 s", p.Text())
		p.BlockLog(messages.Merged, true)
		time.AfterFunc(5*time.Second, func() { p.BlockLog(messages.Merged, false) })
	case 3:
		x.note("%s takes no input for 5 s", p.Text())
		p.FillInput(true)
		time.AfterFunc(5*time.Second, func() { p.FillInput(false) })
	case 4:
		if has[messages.MainExited](p) {
			return // it is too late to choose
		}
		x.note("%s leaves %+v", p.Text(), leftovers[1])
		p.Leave(fake.Children{N: 1, Output: true})
	}
}
