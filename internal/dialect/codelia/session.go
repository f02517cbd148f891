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

// Limits of the table of tasks. A running task costs a process and a few waits on its
// output. A full table drops its oldest ended task.
const (
	maxRunning = 64
	maxKnown   = 200
)

// grace is the time from TERM to KILL.
const grace = 2 * time.Second

// Settings holds the settings of codelia.
type Settings struct {
	// SandboxRoot is the directory that commands must start in or below; "": the
	// session's.
	SandboxRoot string
	// Sandbox is the argv of a program that confines commands; the shell's argv follows it
	// (none).
	Sandbox []string
	// Deny lists command names that are refused (none).
	Deny []string
	// PassEnv names variables that agent tasks inherit although they look like secrets.
	PassEnv []string
}

// Options configures a session. Host, Beside, FS, Dir and SessionID are required.
type Options struct {
	Host   dialect.Host
	Beside dialect.TaskGroup
	Scope  messages.ScopePath
	// Dir is the session's directory, Env the environment of its caller.
	Dir       string
	Env       []string
	SessionID string
	Settings  Settings
	// Files is the cache of outputs. The session closes it. nil: outputs are not cached.
	Files *artifact.Dir
	FS    shelltext.Files
	// Confirm asks the user about a task; nil: tasks need no confirmation. Exec never asks
	//
	Confirm func(ctx context.Context, command, cwd string) (bool, error)
	// Owner is the process id of the runtime; the tags of its tasks contain it.
	Owner int
	Log   *slog.Logger
	Now   func() time.Time
}

// Session implements the shell requests of a runtime. It is safe for concurrent use.
type Session struct {
	o      Options
	limits artifact.CacheLimits
	ctx    context.Context //nolint:containedctx // the life of the session
	end    context.CancelFunc

	subscribed sync.Once
	begun      chan struct{} // closed when facts about the tasks arrive
	mu         sync.Mutex
	closed     bool
	tasks      []*task // in starting order
}

// New makes a session. The caller must Close it.
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

// Close cancels the running tasks and removes the cached outputs. The owner of
// Beside waits for its remaining goroutines.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	running := s.running()
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, t := range running { // in parallel: each may take its grace
		all.Add(1)
		s.o.Beside.Go(func() {
			defer all.Done()
			_ = s.stop(ctx, t, textScopeEnded, true) // stop logs its error
		})
	}
	all.Wait()
	s.end()
	if s.o.Files == nil {
		return nil
	}
	return s.o.Files.Close()
}

// Tools returns the tools of the model.
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

// called adapts a method to Tool.Call.
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

// subscribe starts to follow the facts about the tasks, once per session. It returns when
// they arrive or ctx ends.
func (s *Session) subscribe(ctx context.Context) {
	s.subscribed.Do(func() {
		s.o.Beside.Go(func() {
			once := sync.OnceFunc(func() { close(s.begun) })
			defer once()
			for fact, err := range s.o.Host.Events(s.ctx, messages.Filter{Scope: s.o.Scope}, once) {
				if err != nil {
					if s.ctx.Err() == nil {
						s.o.Log.Warn("cannot follow the events of shell tasks; their ends are still known", "error", err)
					}
					return
				}
				if f, ok := fact.(messages.CommandFact); ok {
					s.apply(f)
				}
			}
		})
	})
	select {
	case <-s.begun:
	case <-ctx.Done():
	}
}

// apply handles a fact about a task. A task that is stopping gets its result at once,
// before its process tree has ended.
func (s *Session) apply(f messages.CommandFact) {
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
