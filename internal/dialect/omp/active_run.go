package omp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// updateEvery is the shortest interval between updates of a call.
const updateEvery = 50 * time.Millisecond

// largestArg bounds a text that is passed as one argument, in bytes. Linux allows 128 KiB.
const largestArg = 100 << 10

// launch is a command before it runs.
type launch struct {
	req     messages.RunCommand
	command string    // without the prefix
	text    string    // with it
	env     []string  // variables of the call
	live    *shellUse // the live shell; nil: a process of its own
	limits  limits
	stopAt  int
	timeout Timeout
	pty     bool
	notes   []string
	feed    *outputFeed // receives the whole output; nil: none
}

// launchOf makes the launch of a call. key selects the live shell.
func (s *Session) launchOf(c *call, key string) (launch, error) {
	l := launch{command: c.command, limits: c.limits, stopAt: c.stopAt, timeout: c.timeout, pty: c.pty}
	choice, err := s.choice()
	if err != nil {
		return l, err
	}
	base, named := s.environment(choice), entries(c.p.Env)
	text := shelltext.Prefixed(prefix(s.options.Env, s.options.Settings), c.command)
	l.req = messages.RunCommand{
		UID: messages.UID(ulid.Make().String()), Scope: s.options.Scope, Dir: c.dir, Env: messages.Env{Policy: messages.EnvCaller, Base: base, Set: named},
		Stdio: messages.Stdio{Streams: messages.MergedStreams, Stdin: messages.StdinNull}, Timeout: c.timeout.Duration(), Grace: grace,
		Store: messages.Store{Quota: s.options.Settings.Quota}, Labels: messages.Labels{Description: c.original},
	}
	if c.pty {
		l.req.Argv, l.req.Terminal, l.req.Stdin = []string{"sh", "-lc", text}, PTYSize(s.options.Screen), ""
		return l, nil
	}
	own := key != shelltext.SessionKey(s.options.SessionID)
	if !s.options.Settings.OneShot && (own || len(named) == 0 || envInShell(choice.Path)) {
		l.live = s.useShell(shelltext.ReuseKey{
			Shell: choice.Path, Prefix: prefix(s.options.Env, s.options.Settings), Env: base, Session: key, Options: s.minimizerOptions(),
		}, own)
	}
	l.req.Text, l.text, l.env = text, text, named
	if l.live == nil {
		l.alone(choice)
		return l, nil
	}
	if c.piped { // the pipe ran the command in a subshell
		l.req.Text = "( " + text + "\n)"
	}
	if !own { // variables of a call must not stay for the next one
		l.req.Text, l.req.Env.Set = withEnv(l.req.Text, c.p.Env)
	}
	l.req.Session, l.req.Env.Base, l.notes = l.live.id, nil, l.live.notes
	l.req.Env.Policy = ""
	l.req.Open = &messages.SessionPlan{Backend: messages.BackendShell, Dir: c.dir, Env: messages.Env{Policy: messages.EnvCaller, Base: base}, Shell: choice.Path}
	return l, nil
}

// alone makes the command run in a process of its own.
func (l *launch) alone(choice shelltext.ShellChoice) {
	if plan := l.req.Open; plan != nil {
		l.req.Env = messages.Env{Policy: messages.EnvCaller, Base: plan.Env.Base, Set: l.env}
		l.req.Open, l.req.Session, l.req.Text = nil, "", l.text
	}
	if len(l.req.Text) > largestArg {
		l.req.Shell = choice.Path
		return
	}
	l.req.Argv, l.req.Text = choice.Argv(l.req.Text), ""
}

// choice returns the shell of the session.
func (s *Session) choice() (shelltext.ShellChoice, error) {
	choice, bad := shelltext.Select(shelltext.Setting{Path: s.options.Settings.ShellPath, Where: "the setting shellPath"}, s.options.Env, shelltext.Executable(s.options.FS))
	if bad != nil {
		return choice, &ToolError{Text: bad.Error()}
	}
	return choice, nil
}

// environment returns the environment of commands in a shell. OMPCODE and CLAUDECODE mark
// the agent of this front end.
func (s *Session) environment(choice shelltext.ShellChoice) []string {
	base := shelltext.AgentEnvironment(s.options.Env, choice.Path, s.options.Settings.PassEnv)
	return shelltext.Overlay(base, []string{"OMPCODE=1", "CLAUDECODE=1"})
}

// activeRun is a launched command.
type activeRun struct {
	launch
	began  time.Time
	asked  context.Context    //nolint:containedctx // values of the call's context for the host; never ends
	cancel context.CancelFunc // abandons the run; a command in the foreground is stopped
	done   chan struct{}      // closed when job, text and err are set
	job    messages.Record
	text   dialect.Text
	err    error

	mu   sync.Mutex
	uid  messages.UID // of the current run; a refused live shell leads to a second one
	used *shellUse

	headStop     atomic.Bool // stopped after its first lines
	left         atomic.Bool // the call did not wait for its end
	jobCancelled atomic.Bool // its background job was cancelled
	updates      *updater
	looks        sync.WaitGroup
}

func (f *activeRun) id() messages.JobID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return messages.JobID(f.uid)
}

// shell returns the live shell of the run, nil for a process of its own.
func (f *activeRun) shell() *shellUse {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used
}

func (f *activeRun) is(uid messages.UID, used *shellUse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uid, f.used = uid, used
}

// launch starts a command in the background. show receives its output.
func (s *Session) launch(ctx context.Context, l launch, show func(string)) *activeRun {
	f := &activeRun{launch: l, began: s.options.Now(), asked: context.WithoutCancel(ctx), done: make(chan struct{}), updates: &updater{show: show}}
	f.is(l.req.UID, l.live)
	ctx, f.cancel = dialect.Within(ctx, s.ctx)
	s.options.Beside.Go(func() {
		s.runActive(ctx, f)
		close(f.done)
	})
	return f
}

// runActive runs a command. If its live shell is not available, it runs in a process of its
// own.
func (s *Session) runActive(ctx context.Context, f *activeRun) {
	known := func(messages.JobID) { s.begun(ctx, f) }
	most := window
	if f.feed != nil { // it has the end of the text
		most = 0
	}
	if !f.updates.watched() && f.stopAt == 0 && !f.pty && f.feed == nil { // not needed, and it costs the host a reply
		known = nil
	}
	f.job, f.text, f.err = s.options.Host.Run(ctx, f.req, most, known)
	if f.live == nil || !refusedShell(f.job, f.err) || ctx.Err() != nil {
		return
	}
	s.release(f.live, dropShell)
	choice, err := s.choice()
	if err != nil {
		return
	}
	again := f.launch
	again.alone(choice)
	again.req.UID = messages.UID(ulid.Make().String())
	f.is(again.req.UID, nil)
	f.job, f.text, f.err = s.options.Host.Run(ctx, again.req, most, known)
}

// refusedShell reports whether a command did not run because its live shell is not
// available.
func refusedShell(job messages.Record, err error) bool {
	if err != nil {
		return errors.Is(err, &messages.Error{Code: messages.ResourceExhausted, Reason: "shells"}) || errors.Is(err, &messages.Error{Code: messages.Unsupported}) ||
			errors.Is(err, &messages.Error{Code: messages.Conflict})
	}
	return job.End.Outcome == messages.FailedToStart
}

// begun starts what accompanies a run, once the node knows the command.
func (s *Session) begun(ctx context.Context, f *activeRun) {
	id := f.id()
	if f.pty && s.options.Console != nil {
		s.options.Console(newConsole(s.options.Host, id, f.command))
	}
	if f.stopAt > 0 {
		f.looks.Add(1)
		s.options.Beside.Go(func() {
			defer f.looks.Done()
			s.stopAfterHead(ctx, f, id)
		})
	}
	if f.feed != nil {
		f.looks.Add(1)
		s.options.Beside.Go(func() {
			defer f.looks.Done()
			f.feed.follow(ctx, s.options.Host, id)
		})
	}
	if f.updates.watched() {
		f.looks.Add(1)
		s.options.Beside.Go(func() {
			defer f.looks.Done()
			_ = dialect.Live(ctx, s.options.Host, id, messages.Merged, s.tail(id), updateEvery, func(p messages.OutputPage) { f.updates.say(p.Text) }) // an error loses nothing: the result has the whole output
		})
	}
}

// settled says how the wait for a command ended.
type settled int

const (
	endedSoFar settled = iota
	callerLeft
	hardOver
)

// wait waits for a command, its caller, or the hard timeout.
func (s *Session) wait(ctx context.Context, f *activeRun) settled {
	var hard <-chan time.Time
	if d := f.timeout.Duration(); d > 0 {
		timer := time.NewTimer(d + hardGrace)
		defer timer.Stop()
		hard = timer.C
	}
	select {
	case <-f.done:
		return endedSoFar
	case <-ctx.Done():
		f.cancel()
		bound := time.NewTimer(hardGrace)
		defer bound.Stop()
		select {
		case <-f.done:
		case <-bound.C:
			f.left.Store(true)
		}
		return callerLeft
	case <-hard:
		f.left.Store(true)
		f.cancel()
		return hardOver
	}
}

// updater sends the output of a command to show, one update at a time, until it is closed.
type updater struct {
	mu    sync.Mutex
	show  func(string)
	last  string
	ended bool
}

func (u *updater) say(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.show != nil && !u.ended && text != "" && text != u.last {
		u.last = text
		u.show(text)
	}
}

// to replaces show; nil: updates are dropped.
func (u *updater) to(show func(string)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.show = show
}

func (u *updater) watched() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.show != nil
}

func (u *updater) latest() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last
}

func (u *updater) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
}
