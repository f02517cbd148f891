package omp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/internal/shelltext/urls"
	"troupe/messages"
)

// Options configures a session. Host, Beside, FS, Dir and SessionID are required.
type Options struct {
	Host   dialect.Host
	Beside dialect.TaskGroup
	Scope  messages.ScopePath
	// Dir is the session's directory, Env its caller's environment, Home the meaning of ~.
	Dir, Home string
	Env       []string
	SessionID string
	Settings  Settings
	// Tools lists the tools that the model has. A rule that suggests another tool blocks
	// nothing.
	Tools []string
	// HasUI means that a person can see a terminal; Screen is the size of the screen.
	// Console receives each command on a terminal. It must call Show in another
	// goroutine: the command waits until Console returns.
	HasUI   bool
	Screen  messages.Terminal
	Console func(*Console)
	// Client runs commands in the client's own terminal; nil: the client has none.
	Client ClientTerminal
	// Files makes the artifacts; nil: outputs get none.
	Files *artifact.Store
	FS    shelltext.Files
	// Routers resolve the internal URLs.
	Routers []urls.Router
	// Jobs is the table of background jobs; nil: the session has none. Owner is the
	// agent whose jobs it sees.
	Jobs  *Jobs
	Owner string
	Log   *slog.Logger
	Now   func() time.Time
}

// Session holds the tools of one agent. It is safe for concurrent use.
type Session struct {
	options Options
	ctx     context.Context //nolint:containedctx // the life of the session
	end     context.CancelFunc
	rules   shelltext.Rules

	turn chan struct{} // capacity 1; held by the running call of bash

	mu     sync.Mutex
	shells map[string]*liveShell           // by digest of the key
	opened map[messages.SessionID]struct{} // not closed yet
	count  int                             // of shells for jobs

	ends endWaiter
}

// New makes a session. The caller must Close it.
func New(o Options) *Session {
	o.Log, o.Now = dialect.Defaults(o.Log, o.Now)
	s := &Session{
		options: o, turn: make(chan struct{}, 1), rules: o.Settings.rules(),
		shells: map[string]*liveShell{}, opened: map[messages.SessionID]struct{}{},
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close stops the session's commands and background jobs, and closes its shells. The owner
// of Beside waits for its remaining goroutines.
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
	for i, id := range open { // in parallel: each may take its grace
		all.Add(1)
		s.options.Beside.Go(func() {
			defer all.Done()
			_, err := host.Ask(ctx, s.options.Host, messages.CloseSession{Scope: s.options.Scope, Session: id, Grace: grace, Reason: "its agent's session ended"})
			if !gone(err) {
				errs[i] = err
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// gone reports whether the object of a request no longer exists.
func gone(err error) bool {
	return errors.Is(err, &messages.Error{Code: messages.NotFound}) || errors.Is(err, &messages.Error{Code: messages.SessionClosedCode})
}

// Tools returns the tools of the model.
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

// answered turns a *ToolError into a result. An abort stays an error, since no caller waits
// for a result.
func answered(r dialect.Result, err error) (dialect.Result, error) {
	if wrong, ok := errors.AsType[*ToolError](err); ok {
		r = dialect.Failure(wrong.Text)
		if wrong.Details != nil {
			r.Details = wrong.Details
		}
		return r, nil
	}
	return r, err
}

// ToolError is the error of a call that did not run.
type ToolError struct {
	Text    string
	Details *Details
}

func (e *ToolError) Error() string { return e.Text }

// AbortError means that the caller has aborted the call. Text is the output of the command,
// or says that it was aborted.
type AbortError struct {
	Text  string
	Cause error
}

func (e *AbortError) Error() string { return e.Text }

// Unwrap returns why the context of the call ended.
func (e *AbortError) Unwrap() error { return e.Cause }
