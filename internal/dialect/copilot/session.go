package copilot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Limits of what a session remembers.
const (
	mostShells   = 32              // open at a time; each has a process and a terminal
	mostDetached = 100             // running commands
	mostEnded    = 100             // ended tasks without a shell
	mostCalls    = 64              // waiting for one shell
	grace        = 5 * time.Second // from TERM to KILL
	closeTime    = 2 * grace       // limit of a close in the background

	// terminalGrace is the grace of a shell on a terminal, which Copilot CLI kills at once
	// . No TERM ends an interactive shell, so that a stop may use all of it.
	terminalGrace = 500 * time.Millisecond
)

// Options configures a session. Host, Beside, Dir and SessionID are required.
type Options struct {
	Host   dialect.Host
	Beside dialect.TaskGroup
	Scope  messages.ScopePath
	// Dir is the session's directory, Env the environment of its caller.
	Dir       string
	Env       []string
	SessionID string
	Settings  Settings
	// Files holds the large outputs; nil: they get no file. The session closes it.
	Files *artifact.Dir
	// Protected lists the processes that no command may kill.
	Protected shelltext.Protected
	// Notify receives the end of each command in the background once; nil: notices
	// are off.
	Notify func(Notice)
	Log    *slog.Logger
	Now    func() time.Time
}

// counter counts the shells of a session. It is safe for concurrent use.
type counter struct {
	mu   sync.Mutex
	next int
}

func (c *counter) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return strconv.Itoa(c.next - 1)
}

// gave reports whether an id was given out.
func (c *counter) gave(id string) bool {
	n, err := strconv.Atoi(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	return err == nil && n >= 0 && n < c.next && strconv.Itoa(n) == id
}

// Session is the suite of one agent's session. It is safe for concurrent use.
type Session struct {
	options Options
	can     Capabilities
	env     []string
	ctx     context.Context //nolint:containedctx // the life of the session
	end     context.CancelFunc
	turns   callQueue
	ids     counter

	mu        sync.Mutex
	closed    bool
	shells    map[string]*attached  // open shells by id
	tasks     map[string]*execution // last task of each id
	order     []*execution          // in starting order
	shutdowns []Shutdown
	counts    map[string]int64
}

// New makes a session. The caller must Close it.
func New(o Options) *Session {
	o.Log, o.Now = dialect.Defaults(o.Log, o.Now)
	o.Settings = o.Settings.withDefaults(o.Env)
	s := &Session{
		options: o, can: o.Settings.capabilities(), turns: callQueue{waiting: map[string][]chan struct{}{}},
		shells: map[string]*attached{}, tasks: map[string]*execution{}, counts: map[string]int64{},
	}
	s.env = o.Settings.Shell.environment(o.Env, o.Settings.PassEnv, o.SessionID, s.can.TTYSupport)
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// Close stops all attached shells, leaves detached commands running, and removes the files
// of large outputs unless they are to be kept.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.closeShells(ctx)
	s.end()
	s.mu.Lock()
	all := s.order
	s.mu.Unlock()
	for _, e := range all {
		e.out.close()
	}
	if s.options.Files == nil {
		return err
	}
	if keepFiles(s.options.Env) {
		return errors.Join(err, s.options.Files.Leave())
	}
	return errors.Join(err, s.options.Files.Close())
}

// Tools returns the tools of the model. The input tool is among them if the backend
// supports input.
func (s *Session) Tools() []dialect.Tool {
	names, shown := s.options.Settings.Shell.Tools, s.descriptions()
	tools := []dialect.Tool{
		{Name: names.Execute, Title: "Run a command", Description: shown.Execute, Schema: executeSchema(s.options.Settings), Destructive: true, OpenWorld: true, Call: dialect.Called(s.Execute)},
		{Name: names.Read, Title: "Read output", Description: shown.Read, Schema: readSchema(), ReadOnly: true, Call: dialect.Called(dialect.Plain(s.Read))},
	}
	if s.can.TerminalInput {
		tools = append(tools, dialect.Tool{
			Name: names.Write, Title: "Write input", Description: shown.Write, Schema: writeSchema(), Destructive: true, OpenWorld: true, Call: dialect.Called(dialect.Plain(s.Write)),
		})
	}
	return append(tools,
		dialect.Tool{Name: names.Stop, Title: "Stop a shell", Description: shown.Stop, Schema: stopSchema(), Idempotent: true, Destructive: true, Call: dialect.Called(dialect.Plain(s.Stop))},
		dialect.Tool{
			Name: names.List, Title: "List shells", Description: shown.List, Schema: dialect.ObjectSchema(map[string]any{}), ReadOnly: true,
			Call: dialect.Called(func(ctx context.Context, _ struct{}, _ func(dialect.Result)) (dialect.Result, error) {
				return s.List(ctx)
			}),
		})
}

func failure(text string, d *Details) dialect.Result {
	r := dialect.Result{Text: text, IsError: true}
	if d != nil {
		r.Details = d
	}
	return r
}

// descriptions returns the descriptions of the tools.
func (s *Session) descriptions() ToolNames {
	execute := descExecute
	if !s.can.TTYSupport {
		execute = descSpawn
	}
	return ToolNames{Execute: fmt.Sprintf(execute, s.options.Settings.Shell.Kind), Read: descRead, Write: descWrite, Stop: descStop, List: descList}
}
