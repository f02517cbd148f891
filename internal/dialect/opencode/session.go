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

// prefix begins the names of the directories of sessions.
const prefix = "opencode-"

// grace is from TERM to KILL of a command that timed out or was aborted.
const grace = 2 * time.Second

// Options are what a session needs. Host, FS, Dir and SessionID must be given, Beside if
// there are background tasks.
type Options struct {
	Host   dialect.Host
	Beside dialect.TaskGroup
	Scope  messages.ScopePath
	// Dir is the session's directory, Env its caller's environment.
	Dir       string
	Env       []string
	SessionID string
	Settings  Settings
	// Files has the full outputs, and is closed with the session; nil: opencode-<SessionID>
	// in the directory of the settings.
	Files *artifact.Dir
	FS    shelltext.Files
	// Notify is told of the end of each background task, once; nil: nobody is.
	Notify func(Notice)
	Log    *slog.Logger
	Now    func() time.Time
}

// Session is one agent's tools. It is safe for concurrent use: calls run beside each
// other.
type Session struct {
	options Options
	s       Settings
	ctx     context.Context //nolint:containedctx // the life of the session
	end     context.CancelFunc
	files   *artifact.Dir // nil: none are made
	sweep   sync.Once

	mu     sync.Mutex
	closed bool
	tasks  []*task // as they began
}

// New makes a session. Close must follow.
func New(o Options) *Session {
	o.Log, o.Now = dialect.Defaults(o.Log, o.Now)
	s := &Session{options: o, s: o.Settings.withDefaults(), files: o.Files}
	if s.files == nil {
		files, err := artifact.NewDir(s.s.TempDir, prefix+artifact.SessionName(o.SessionID))
		if err != nil {
			o.Log.Warn("full outputs have no directory", "error", err)
		}
		s.files = files
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends the background tasks and removes the files of the session. Who has
// given Beside waits for what goes on there.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true // nobody is told of an end from now on
	s.mu.Unlock()
	s.stopAll(ctx)
	s.end()
	if s.files == nil {
		return nil
	}
	return s.files.Close()
}

// Tools are the tools of the model.
func (s *Session) Tools() []dialect.Tool {
	about := fmt.Sprintf(descBash, s.s.number(int64(s.s.MaxOutputLines)), s.s.number(int64(s.s.MaxOutputBytes)), s.s.TruncatedHeadLines, s.s.TruncatedTailLines)
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
