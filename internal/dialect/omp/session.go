package omp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/internal/shelltext/minimize"
	"troupe/internal/shelltext/urls"
	"troupe/messages"
)

// Options are what a session needs. Host, Beside, FS, Dir and SessionID must be given.
type Options struct {
	Host   dialect.Host
	Beside dialect.TaskGroup
	Scope  messages.ScopePath
	// Dir is the session's directory, Env its caller's environment, Home what ~ means.
	Dir, Home string
	Env       []string
	SessionID string
	Settings  Settings
	// Tools are the names of the tools that the model has: a rule that suggests
	// another blocks nothing.
	Tools []string
	// HasUI says that there is somebody to see a terminal, whose screen has the size
	// Screen; Console is given each command that runs on one, to Show it in a
	// goroutine of its own: the command waits for Console to return.
	HasUI   bool
	Screen  messages.Terminal
	Console func(*Console)
	// Client runs commands in the client's own terminal; nil: it has none.
	Client ClientTerminal
	// Files makes the artifacts; nil: none are made.
	Files *artifact.Store
	FS    shelltext.Files
	// Routers know the internal URLs.
	Routers []urls.Router
	// Jobs is the table of background jobs, and Owner the agent whose are seen; nil:
	// there are none.
	Jobs  *Jobs
	Owner string
	// Minimized is told of each output that was rewritten.
	Minimized func(minimize.Info)
	Log       *slog.Logger
	Now       func() time.Time
}

// Session is one agent's tools. It is safe for concurrent use.
type Session struct {
	options Options
	ctx     context.Context //nolint:containedctx // the life of the session
	end     context.CancelFunc
	rules   shelltext.Rules

	turn chan struct{} // held by the call of bash that runs

	mu      sync.Mutex
	shells  map[string]*liveShell           // by digest of their key
	opened  map[messages.SessionID]struct{} // not closed yet
	count   int                             // of shells of jobs
	running map[int]context.CancelFunc      // user's commands
	next    int

	ends endWaiter
}

// New makes a session. Close must follow.
func New(o Options) *Session {
	o.Log, o.Now = dialect.Defaults(o.Log, o.Now)
	s := &Session{
		options: o, turn: make(chan struct{}, 1), rules: o.Settings.rules(),
		shells: map[string]*liveShell{}, opened: map[messages.SessionID]struct{}{}, running: map[int]context.CancelFunc{},
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends what runs for the session, its background jobs too, and closes its shells.
// What goes on beside it is waited for by whoever gave Beside.
func (s *Session) Close(ctx context.Context) error {
	if s.options.Jobs != nil {
		s.options.Jobs.cancelOwned(s.options.Owner)
	}
	s.end()
	s.mu.Lock()
	var open []messages.SessionID
	for id := range s.opened {
		open = append(open, id)
	}
	clear(s.opened)
	s.mu.Unlock()
	errs := make([]error, len(open))
	var all sync.WaitGroup
	for i, id := range open { // at once: each may take its grace
		all.Add(1)
		s.options.Beside.Go(func() {
			defer all.Done()
			_, err := s.options.Host.CloseSession(ctx, messages.CloseSession{Scope: s.options.Scope, Session: id, Grace: grace, Reason: "its agent's session ended"})
			if !gone(err) {
				errs[i] = err
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// gone says of an error that what it is about is not there any more.
func gone(err error) bool {
	return errors.Is(err, &messages.Error{Code: messages.NotFound}) || errors.Is(err, &messages.Error{Code: messages.SessionClosedCode})
}

// Tools are the tools of the model.
func (s *Session) Tools() []dialect.Tool {
	description := descBash
	if !s.options.Settings.OneShot {
		description += descLive
	}
	tools := []dialect.Tool{{
		Name: "bash", Title: "Bash", Description: description, Schema: bashSchema(s.options.Settings), Destructive: true, OpenWorld: true,
		Call: func(ctx context.Context, c dialect.Call) (dialect.Result, error) {
			var p Params
			if bad := dialect.Decode(c.Arguments, &p); bad != nil {
				return dialect.Failure(bad.Error()), nil
			}
			if !s.options.Settings.StripTrailingHeadTail && (p.Head != nil || p.Tail != nil) {
				return dialect.Failure(messages.Invalid("head", textNoLimits).Error()), nil
			}
			return answered(s.Bash(ctx, p, c.Update))
		},
	}}
	if s.options.Settings.background() {
		tools = append(tools, dialect.Tool{
			Name: "job", Title: "Jobs", Description: descJob, Schema: jobSchema(), Destructive: true,
			Call: dialect.Called(func(ctx context.Context, p JobParams, update func(dialect.Result)) (dialect.Result, error) {
				return answered(s.Job(ctx, p, update))
			}),
		})
	}
	return tools
}

// answered makes a result of the error of a tool; an abort stays an error, since nobody
// waits for a result any more.
func answered(r dialect.Result, err error) (dialect.Result, error) {
	var wrong *ToolError
	if errors.As(err, &wrong) {
		r = dialect.Failure(wrong.Text)
		if wrong.Details != nil {
			r.Details = wrong.Details
		}
		return r, nil
	}
	return r, err
}

// ToolError says what is wrong with a call. Nothing ran.
type ToolError struct {
	Text    string
	Details *Details
}

func (e *ToolError) Error() string { return e.Text }

// AbortError says that the caller has aborted the call; Text is what the command had
// written, or says that it was aborted.
type AbortError struct {
	Text  string
	Cause error
}

func (e *AbortError) Error() string { return e.Text }

// Unwrap is why the context of the call ended.
func (e *AbortError) Unwrap() error { return e.Cause }
