package omp

import (
	"context"
	"errors"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/internal/shelltext/urls"
)

// call is the state of one call of bash during its steps.
type call struct {
	p        Params
	original string // the command as given
	command  string // the command to run
	limits   limits
	piped    bool // its output went through a trailing pipe, which was removed
	stopAt   int  // lines after which the command is stopped; 0: it is not stopped
	dir      string
	timeout  Timeout
	pty      bool
	path     path
	update   func(dialect.Result)
}

// step is one change or check of a call before it runs.
type step struct {
	name string
	do   func(*Session, *call) error
}

// steps are in the order of R-012. An error is a *ToolError and ends the call before
// anything has run. As in oh-my-pi, limits are the first step that changes the text.
// Artifacts are allocated when the first byte would be lost.
var steps = []step{
	{"env", (*Session).checkEnv},
	{"limits", (*Session).takeLimits},
	{"cd", (*Session).takeCd},
	{"async", (*Session).checkAsync},
	{"intercept", (*Session).intercept},
	{"urls", (*Session).expand},
	{"cwd", (*Session).resolveDir},
	{"timeout", (*Session).clampTimeout},
	{"path", (*Session).choosePath},
}

// Bash runs one command. The error is a *ToolError, an *AbortError, or nil; with nil the
// command may still have failed. update receives the output so far, at most every 50 ms.
// Each update replaces the one before.
func (s *Session) Bash(ctx context.Context, p Params, update func(dialect.Result)) (dialect.Result, error) {
	p.Async = p.Async || p.Name != "" || p.Ready != nil
	c := &call{p: p, original: p.Command, command: p.Command, update: update}
	for _, step := range steps {
		if err := step.do(s, c); err != nil {
			return dialect.Result{}, err
		}
	}
	if err := s.takeTurn(ctx); err != nil {
		return dialect.Result{}, &AbortError{Text: textAborted, Cause: err}
	}
	defer func() { <-s.turn }()
	switch c.path {
	case asJob:
		return s.managed(ctx, c, 0)
	case asAutoJob:
		return s.managed(ctx, c, autoWait(c.timeout, s.options.Settings.AutoBackgroundThreshold))
	case onClient:
		return s.inClient(ctx, c)
	}
	return s.foreground(ctx, c)
}

// takeTurn waits until no other call of bash runs.
func (s *Session) takeTurn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *Session) checkEnv(c *call) error {
	if wrong := checkEnv(c.p.Env); wrong != "" {
		return &ToolError{Text: wrong}
	}
	return nil
}

// takeLimits turns a trailing pipe into limits, unless it has to stay.
func (s *Session) takeLimits(c *call) error {
	var asked limits
	if c.p.Head != nil {
		asked.head = max(0, *c.p.Head)
	}
	if c.p.Tail != nil {
		asked.tail = max(0, *c.p.Tail)
	}
	c.limits = asked
	if !s.options.Settings.StripTrailingHeadTail || s.pathOf(c) == onClient { // nothing stops a command there after its first lines
		return nil
	}
	taken, ok := shelltext.SplitLimits(c.command)
	if !ok {
		return nil
	}
	merged, ok := taken.Merge(c.p.Head, c.p.Tail)
	if !ok {
		return nil
	}
	c.command, c.limits, c.piped = merged.Command, limits{head: merged.Head, tail: merged.Tail}, true
	if taken.Head > 0 {
		c.stopAt = merged.Head
	}
	return nil
}

func (s *Session) takeCd(c *call) error {
	if c.p.Cwd != "" {
		return nil
	}
	if dir, rest, ok := shelltext.SplitCd(c.command); ok {
		c.p.Cwd, c.command = dir, rest
	}
	return nil
}

func (s *Session) checkAsync(c *call) error {
	switch {
	case c.p.Async && !s.options.Settings.AsyncEnabled:
		return &ToolError{Text: textAsyncOffHow}
	case c.p.Async && s.options.Jobs == nil:
		return &ToolError{Text: textNoManager}
	}
	return nil
}

// expand replaces internal URLs by paths.
func (s *Session) expand(c *call) error {
	given := urls.Call{Command: c.command, Env: c.p.Env, Cwd: c.p.Cwd}
	done, err := urls.Expand(given, s.options.Routers...)
	if err != nil {
		return &ToolError{Text: err.Error()}
	}
	c.command, c.p.Env, c.p.Cwd = done.Command, done.Env, done.Cwd
	return nil
}

func (s *Session) resolveDir(c *call) error {
	dir, err := shelltext.Cwd(s.options.FS, shelltext.Place{Session: s.options.Dir, Home: s.options.Home, SlashIsSession: true}, c.p.Cwd)
	if err != nil {
		return &ToolError{Text: err.Error()}
	}
	c.dir = dir
	return nil
}

func (s *Session) clampTimeout(c *call) error {
	c.timeout = timeout(c.p.Timeout, s.options.Settings)
	return nil
}

func (s *Session) choosePath(c *call) error {
	c.path = s.pathOf(c)
	c.pty = c.path == onPTY
	return nil
}

// pathOf returns how a call runs.
func (s *Session) pathOf(c *call) path {
	asked := s.options.Settings.VirtualTerminal == "on"
	if c.p.Pty != nil {
		asked = *c.p.Pty
	}
	return choose(callContext{
		async: c.p.Async, auto: s.options.Settings.AutoBackground, manager: s.options.Jobs != nil, client: s.options.Client != nil,
		pty: asked, eligible: s.options.HasUI && PTYAllowed(s.options.Env),
	})
}

// foreground runs a command while the call waits.
func (s *Session) foreground(ctx context.Context, c *call) (dialect.Result, error) {
	l, err := s.launchOf(c, shelltext.SessionKey(s.options.SessionID))
	if err != nil {
		return dialect.Result{}, err
	}
	var show func(string)
	if c.update != nil && !c.pty {
		show = func(text string) { c.update(dialect.Result{Text: text, Details: &Details{}}) }
	}
	f := s.launch(ctx, l, show)
	if s.wait(ctx, f) == endedSoFar && f.err == nil && !f.job.State.Ended() {
		return s.adopted(c, f)
	}
	return s.answer(ctx, s.conclude(ctx, f))
}

// answer returns the result of a command that has ended, or an *AbortError if the caller
// has aborted it.
func (s *Session) answer(ctx context.Context, e ended) (dialect.Result, error) {
	r := e.result()
	if err := context.Cause(ctx); err != nil && e.how == aborted {
		return r, &AbortError{Text: r.Text, Cause: errors.Join(ctx.Err(), err)}
	}
	return r, nil
}

// intercept blocks a command for which the model has a better tool.
func (s *Session) intercept(c *call) error {
	if !s.options.Settings.Interceptor {
		return nil
	}
	block, blocked := shelltext.Intercept(c.command, c.original, s.rules, s.options.Tools)
	if !blocked {
		return nil
	}
	return &ToolError{Text: block.Text(), Details: &Details{SuggestedTool: block.SuggestedTool}}
}
