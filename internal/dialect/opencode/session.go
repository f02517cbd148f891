package opencode

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// prefix starts the names of session directories.
const prefix = "opencode-"

// grace is the time from TERM to KILL after a timeout or an abort.
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
	Settings  Settings
	FS        shelltext.Files
	// Notify receives the end of each background task once; nil: notices are off.
	Notify func(Notice)
	Log    *slog.Logger
	Now    func() time.Time
}

// Session holds the tools of one agent. It is safe for concurrent use; calls run in
// parallel.
type Session struct {
	options Options
	s       Settings
	ctx     context.Context //nolint:containedctx // the life of the session
	end     context.CancelFunc
	files   *artifact.Dir // nil: no files are made
	sweep   sync.Once

	mu     sync.Mutex
	closed bool
	tasks  []*task                  // in starting order
	shells map[string]*workdirShell // by directory
	opened int                      // shells so far
	uses   uint64                   // calls in shells so far
}

// New makes a session. The caller must Close it.
func New(o Options) *Session {
	o.Log, o.Now = dialect.Defaults(o.Log, o.Now)
	s := &Session{options: o, s: o.Settings.withDefaults(), shells: map[string]*workdirShell{}}
	var err error
	if s.files, err = artifact.NewDir(s.s.TempDir, prefix+artifact.SessionName(o.SessionID)); err != nil {
		o.Log.Warn("full outputs have no directory", "error", err)
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close stops the background tasks, closes the shells and removes the files of the session. The owner
// of Beside waits for its remaining goroutines.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true // no notice is sent from now on
	shells := s.shells
	s.shells = map[string]*workdirShell{}
	s.mu.Unlock()
	s.stopAll(ctx)
	for _, sh := range shells {
		s.closeShell(ctx, sh.id)
	}
	s.end()
	if s.files == nil {
		return nil
	}
	return s.files.Close()
}

// Tools returns the tools of the model.
func (s *Session) Tools() []dialect.Tool {
	about := fmt.Sprintf(descBash, s.s.number(artifact.KeepLimits.Lines), s.s.number(artifact.KeepLimits.Bytes), s.s.TruncatedHeadLines, s.s.TruncatedTailLines)
	if s.s.Background {
		about += descBackground
	}
	tools := []dialect.Tool{
		{Name: "bash", Title: "Bash", Description: about, Schema: bashSchema(s.s), Destructive: true, OpenWorld: true, Call: dialect.Called(dialect.Plain(s.Bash))},
		{Name: "view", Title: "View a file", Description: descView, Schema: viewSchema(), ReadOnly: true, Idempotent: true, Call: dialect.Called(dialect.Plain(s.View))},
	}
	if !s.s.Background {
		return tools
	}
	return append(tools,
		dialect.Tool{
			Name: "tasklist", Title: "List tasks", Description: descTaskList, Schema: dialect.ObjectSchema(map[string]any{}), ReadOnly: true, Idempotent: true,
			Call: dialect.Called(func(context.Context, struct{}, func(dialect.Result)) (dialect.Result, error) {
				return s.TaskList(), nil
			}),
		},
		dialect.Tool{Name: "taskstop", Title: "Stop a task", Description: descTaskStop, Schema: taskSchema(), Idempotent: true, Destructive: true, Call: dialect.Called(dialect.Plain(s.TaskStop))},
	)
}
