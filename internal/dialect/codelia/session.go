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

// Options configures a session. Host, Beside, FS, Dir and SessionID are required.
type Options struct {
	Host   dialect.Host
	Beside dialect.TaskGroup
	Scope  messages.ScopePath
	// Dir is the session's directory, Env the environment of its caller.
	Dir       string
	Env       []string
	SessionID string
	// Policy decides which commands run, and how; nil: Rules with Dir as their root.
	Policy dialect.Policy
	// PassEnv names variables that agent tasks inherit although they look like secrets.
	PassEnv []string
	// Files is the cache of outputs. The session closes it. nil: outputs are not cached.
	Files *artifact.Dir
	FS    shelltext.Files
	// Confirm asks the user about a task of an agent, and returns the reason of a refusal;
	// nil: tasks need no confirmation. Exec never asks.
	Confirm func(ctx context.Context, command, cwd string) (ok bool, reason string, err error)
	// Owner names the process of the runtime, without blanks; the tags of its tasks contain
	// it.
	Owner string
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
	if o.Policy == nil {
		o.Policy = Rules{FS: o.FS, Root: o.Dir}
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
