package codelia

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Bounds of the table of tasks: each that runs is a process with a few waits on its
// output; of those that ended the last are known.
const (
	maxRunning = 64
	maxKnown   = 200
)

// grace is from TERM to KILL.
const grace = 2 * time.Second

// Settings are those of the family.
type Settings struct {
	// SandboxRoot ("": the session's directory): no command begins outside.
	SandboxRoot string
	// Sandbox are the words before the shell's, those of a program that bounds what
	// commands may do with files and the network (none).
	Sandbox []string
	// Deny are names of commands that are not run (none).
	Deny []string
	// PassEnv are names of variables that tasks of agents inherit although they look like
	// secrets.
	PassEnv []string
}

// Options are what a session needs. Host, Beside, FS, Dir and SessionID must be given.
type Options struct {
	Host   dialect.Host
	Beside dialect.TaskGroup
	Scope  messages.ScopePath
	// Dir is the session's directory, Env its caller's environment.
	Dir       string
	Env       []string
	SessionID string
	Settings  Settings
	// Files is the cache of outputs, and closed with the session; nil: there is none.
	Files *artifact.Dir
	FS    shelltext.Files
	// Confirm asks the user about a task; nil: nobody is asked. Exec never asks.
	Confirm func(ctx context.Context, command, cwd string) (bool, error)
	// Owner is the process whose session it is: its tasks carry it.
	Owner int
	Log   *slog.Logger
	Now   func() time.Time
}

// Session is what a runtime offers for shell commands. It is safe for concurrent use.
type Session struct {
	o      Options
	limits artifact.CacheLimits
	ctx    context.Context //nolint:containedctx // the life of the session
	end    context.CancelFunc

	heard  sync.Once
	begun  chan struct{} // closed when the facts about the tasks are heard
	mu     sync.Mutex
	closed bool
	tasks  []*task // as they began
}

// New makes a session. Close must follow.
func New(o Options) *Session {
	o.Log, o.Now = dialect.Defaults(o.Log, o.Now)
	if o.Settings.SandboxRoot == "" {
		o.Settings.SandboxRoot = o.Dir
	}
	s := &Session{o: o, begun: make(chan struct{})}
	s.limits = artifact.CacheLimitsFrom(func(name string) string { return shelltext.Value(o.Env, name) })
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close cancels the tasks that run and removes the cached outputs. Who has given
// Beside waits for what goes on there.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	running := s.running()
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, t := range running { // at once: each may take its grace
		all.Add(1)
		s.o.Beside.Go(func() {
			defer all.Done()
			_ = s.stop(ctx, t, textScopeEnded, true) // it is logged
		})
	}
	all.Wait()
	s.end()
	if s.o.Files == nil {
		return nil
	}
	return s.o.Files.Close()
}

// Tools are the tools of the model.
func (s *Session) Tools() []dialect.Tool {
	tool := func(name, title, about string, schema []byte, call func(context.Context, dialect.Call) (dialect.Result, error)) dialect.Tool {
		return dialect.Tool{Name: name, Title: title, Description: about, Schema: schema, ReadOnly: true, Idempotent: true, Call: call}
	}
	return []dialect.Tool{
		tool("tool_output_cache", "Cached output", descCache, cacheSchema(), called(s.CachePage)),
		tool("tool_output_cache_line", "Line of a cached output", descLine, lineSchema(), called(s.CacheLine)),
		tool("tool_output_cache_grep", "Search a cached output", descGrep, grepSchema(), called(s.CacheGrep)),
	}
}

// called makes a tool's call of a method.
func called[P any](method func(context.Context, P) (string, *Error)) func(context.Context, dialect.Call) (dialect.Result, error) {
	return func(ctx context.Context, c dialect.Call) (dialect.Result, error) {
		var p P
		if bad := dialect.Decode(c.Arguments, &p); bad != nil {
			return dialect.Failure(textInvalid + ": " + bad.Message), nil
		}
		text, err := method(ctx, p)
		switch {
		case ctx.Err() != nil:
			return dialect.Result{}, ctx.Err()
		case err != nil:
			return dialect.Failure(err.Message), nil
		}
		return dialect.Result{Text: text}, nil
	}
}

// hears begins to listen to what becomes of the tasks, with the first of them.
func (s *Session) hears(ctx context.Context) {
	s.heard.Do(func() {
		s.o.Beside.Go(func() {
			once := sync.OnceFunc(func() { close(s.begun) })
			defer once()
			for fact, err := range s.o.Host.Events(s.ctx, messages.Filter{Scope: s.o.Scope}, once) {
				if err != nil {
					if s.ctx.Err() == nil {
						s.o.Log.Warn("what becomes of shell tasks is not heard; their ends are still known", "error", err)
					}
					return
				}
				if f, ok := fact.(messages.CommandFact); ok {
					s.hear(f)
				}
			}
		})
	})
	select {
	case <-s.begun:
	case <-ctx.Done():
	}
}

// hear takes a fact about a task. One that is being ended has its result at once, before
// nothing of it is left.
func (s *Session) hear(f messages.CommandFact) {
	job := f.Record()
	t := s.find(string(job.UID))
	if t == nil {
		return
	}
	switch f.(type) {
	case messages.CommandStarted:
		s.started(t, job)
	case messages.CommandStopping:
		s.o.Beside.Go(func() { s.settle(t, job, nil) })
	}
}
