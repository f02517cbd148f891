package core

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// The foreground budget of a call. Clients cancel a call, or put it aside, after one minute
// (the official TypeScript client) or two.
const (
	DefaultWait = 30 * time.Second
	MaxWait     = 55 * time.Second
)

// Size of a terminal whose job gives none, and the limit of either side.
const (
	defaultRows = 24
	defaultCols = 80
	maxSide     = 1000
)

// Run holds the parameters of the tool run.
type Run struct {
	Command     string            `json:"command,omitempty" doc:"text for the shell"`
	Argv        []string          `json:"argv,omitempty" doc:"instead: a program and its arguments, without a shell"`
	Description string            `json:"description,omitempty" doc:"what it is for, in a few words"`
	Session     string            `json:"session,omitempty" doc:"live shell that keeps directory and variables; opened when first named"`
	Cwd         string            `json:"cwd,omitempty" doc:"directory, relative to the server's"`
	Env         map[string]string `json:"env,omitempty" doc:"variables to set"`
	Shell       string            `json:"shell,omitempty" doc:"bash is the default" enum:"bash,sh,zsh,fish"`
	Pty         *bool             `json:"pty,omitempty" doc:"give it a terminal; left out: as its session"`
	Rows        int               `json:"rows,omitempty" doc:"of the terminal (24)"`
	Cols        int               `json:"cols,omitempty" doc:"of the terminal (80)"`
	Stdin       string            `json:"stdin,omitempty" doc:"text for its standard input"`
	Interactive bool              `json:"interactive,omitempty" doc:"keep standard input open for write"`
	Background  bool              `json:"background,omitempty" doc:"return when it has started"`
	Detach      bool              `json:"detach,omitempty" doc:"background, and it outlives this client"`
	WaitSeconds *float64          `json:"wait_seconds,omitempty" doc:"wait for its end (30, at most 55); then it goes on in the background"`
	Timeout     float64           `json:"timeout_seconds,omitempty" doc:"end it after this long; 0: never"`
	IdleTimeout float64           `json:"idle_timeout_seconds,omitempty" doc:"end it when silent so long"`
	Grace       *float64          `json:"grace_seconds,omitempty" doc:"from TERM to KILL (5)"`
	Streams     string            `json:"streams,omitempty" doc:"separate keeps stdout and stderr apart" enum:"merged,separate"`
	Name        string            `json:"name,omitempty" doc:"can be used for its id"`
	Replace     bool              `json:"replace,omitempty" doc:"stop the live job of that name first"`
	After       []string          `json:"after,omitempty" doc:"begin after JOB[:ok|any|fail]"`
	Lock        []string          `json:"lock,omitempty" doc:"NAME[:N] to hold meanwhile"`
	Queue       string            `json:"queue,omitempty" doc:"of the settings"`
	Priority    int               `json:"priority,omitempty" doc:"the highest is first"`
	Key         string            `json:"key,omitempty" doc:"idempotency key: again, it gets the same job"`
	MaxBytes    int               `json:"max_bytes,omitempty" doc:"most bytes to show"`
}

// OnTerminal reports whether the run has a terminal.
func (p Run) OnTerminal() bool { return p.Pty != nil && *p.Pty }

// RunEnv is what the server adds to a run.
type RunEnv struct {
	Scope messages.ScopePath
	Dir   string   // absolute; base of a relative Cwd
	Env   []string // of the server process; the allow-list selects from it
	Pass  []string // names that pass in addition to the allow-list
	Umask string   // octal
	// Limits are those of the server process.
	Limits messages.Limits
	Quota  messages.Quota
}

// Request returns the request of the parameters. An error names the parameter that is
// wrong.
func (p Run) Request(s RunEnv) (messages.RunCommand, *messages.Error) {
	r := messages.RunCommand{
		Key: p.Key, Scope: s.Scope, Session: messages.SessionID(p.Session), Labels: messages.Labels{Name: p.Name, Description: p.Description}, Replace: p.Replace,
		Program: messages.Program{Text: p.Command, Argv: p.Argv, Shell: p.Shell}, Dir: s.Dir, Umask: s.Umask, Stdio: messages.Stdio{Streams: messages.StreamMode(p.Streams)}, Store: messages.Store{Quota: s.Quota},
		Timeout: seconds(p.Timeout), ProcAttr: messages.ProcAttr{Limits: s.Limits, IdleTimeout: seconds(p.IdleTimeout)},
	}
	switch {
	case p.Detach:
		r.Mode = messages.ModeDetached
	case p.Background:
		r.Mode = messages.ModeAsync
	}
	if p.Cwd != "" {
		r.Dir = p.Cwd
		if !filepath.IsAbs(p.Cwd) {
			r.Dir = filepath.Join(s.Dir, p.Cwd)
		}
	}
	for _, fill := range []func(*messages.RunCommand) *messages.Error{p.times, p.waits, p.input, func(r *messages.RunCommand) *messages.Error { return p.surround(r, s) }} {
		if err := fill(&r); err != nil {
			return r, err
		}
	}
	return r, r.Check()
}

func (p Run) waits(r *messages.RunCommand) *messages.Error {
	r.Queue, r.Priority = p.Queue, p.Priority
	for _, text := range p.After {
		r.After = append(r.After, messages.ParseAfter(text))
	}
	for _, text := range p.Lock {
		l, err := messages.ParseLock(text)
		if err != nil {
			return err
		}
		r.Locks = append(r.Locks, l)
	}
	return nil
}

func (p Run) times(r *messages.RunCommand) *messages.Error {
	wait, err := Wait(p.WaitSeconds)
	if err != nil {
		return err
	}
	if !r.Mode.Background() {
		r.PromoteAfter = wait
		if wait == 0 {
			r.Mode = messages.ModeAsync
		}
	}
	if p.Timeout < 0 || seconds(p.Timeout) > messages.MaxDuration {
		return messages.Invalid("timeout_seconds", fmt.Sprintf("timeout_seconds is %v; it must be positive, or 0 for none", p.Timeout))
	}
	if p.IdleTimeout < 0 || seconds(p.IdleTimeout) > messages.MaxDuration {
		return messages.Invalid("idle_timeout_seconds", fmt.Sprintf("idle_timeout_seconds is %v; it must be positive, or 0 for none", p.IdleTimeout))
	}
	r.Grace, err = Grace(p.Grace)
	if p.MaxBytes < 0 || p.MaxBytes > messages.MaxViewBytes {
		return messages.Invalid("max_bytes", fmt.Sprintf("max_bytes is %d; it must be from 1 to %d", p.MaxBytes, messages.MaxViewBytes))
	}
	return err
}

// Wait returns the duration of wait_seconds: the default if absent, at most MaxWait.
func Wait(given *float64) (time.Duration, *messages.Error) {
	if given == nil {
		return DefaultWait, nil
	}
	if !(*given >= 0) {
		return 0, messages.Invalid("wait_seconds", fmt.Sprintf("wait_seconds is %v; it must be from 0 to %.0f", *given, MaxWait.Seconds()))
	}
	return min(seconds(*given), MaxWait), nil
}

// WaitCut says that a wait is shorter than was asked for; "": it is not. name is the
// parameter.
func WaitCut(name string, given *float64) string {
	if given == nil || *given <= MaxWait.Seconds() {
		return ""
	}
	return fmt.Sprintf("%s was cut to %.0f, the longest wait of a call", name, MaxWait.Seconds())
}

// Grace returns the duration of grace_seconds as a request has it: 0 for the job's own,
// negative for none.
func Grace(given *float64) (time.Duration, *messages.Error) {
	switch {
	case given == nil:
		return 0, nil
	case !(*given >= 0) || seconds(*given) > messages.MaxDuration:
		return 0, messages.Invalid("grace_seconds", fmt.Sprintf("grace_seconds is %v; it must be positive, or 0 for none", *given))
	case *given == 0:
		return -1, nil
	}
	return seconds(*given), nil
}

// seconds converts a number of seconds. Values beyond MaxDuration become MaxDuration + 1 s.
func seconds(n float64) time.Duration {
	if !(n < messages.MaxDuration.Seconds()+1) {
		return messages.MaxDuration + time.Second
	}
	return time.Duration(n * float64(time.Second))
}

func (p Run) input(r *messages.RunCommand) *messages.Error {
	switch {
	case p.Stdin != "" && p.Interactive:
		return messages.Invalid("stdin", "stdin is closed after its text, and interactive leaves it open; give one of them, and write the text with the tool write")
	case p.Stdin != "" && p.OnTerminal():
		return messages.Invalid("stdin", "stdin cannot be closed on a terminal; leave it out, and write the text with the tool write")
	case len(p.Stdin) > messages.MaxInput:
		e := &messages.Error{Code: messages.TooLarge, Reason: "stdin", Message: fmt.Sprintf("stdin has %d bytes; at most %d are allowed", len(p.Stdin), messages.MaxInput)}
		e.Hint = "put it into a file, and read that"
		return e
	case !p.OnTerminal() && (p.Rows != 0 || p.Cols != 0):
		return messages.Invalid("rows", "rows and cols are of a terminal; ask for one with pty")
	case p.Rows < 0 || p.Cols < 0 || p.Rows > maxSide || p.Cols > maxSide:
		return messages.Invalid("rows", fmt.Sprintf("a terminal has from 1 to %d rows and columns", maxSide))
	}
	if p.OnTerminal() {
		r.Terminal = messages.Terminal{Rows: defaultRows, Cols: defaultCols}
		if p.Rows > 0 {
			r.Terminal.Rows = p.Rows
		}
		if p.Cols > 0 {
			r.Terminal.Cols = p.Cols
		}
		return nil
	}
	r.Stdin = messages.StdinNull
	if p.Stdin != "" || p.Interactive {
		r.Stdin = messages.StdinPipe
	}
	return nil
}

// surround sets the environment of the run, or of the shell that it may open. A model's job
// gets the allow-list and the variables that the call names, so that no secret reaches it.
// On a terminal programs may draw; elsewhere they may not prompt.
func (p Run) surround(r *messages.RunCommand, s RunEnv) *messages.Error {
	named := make([]string, 0, len(p.Env))
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return &messages.Error{Code: messages.EnvRefused, Reason: "env", Message: fmt.Sprintf("invalid variable name %q", name), Hint: "use letters, digits and _"}
		}
		named = append(named, name+"="+p.Env[name])
	}
	policy := messages.EnvAgent
	if p.OnTerminal() {
		policy = messages.EnvAllow
	}
	base, _, err := shelltext.Environment(messages.RunCommand{Env: messages.Env{Policy: policy, Set: named}}, s.Env)
	if err != nil {
		if _, named := p.Env[err.Reason]; named { // refused by its name; the tool has no policy parameter
			err.Hint = "set it inside the command, where it can be seen"
		}
		return err
	}
	for _, entry := range s.Env {
		name, value, _ := strings.Cut(entry, "=")
		if _, over := p.Env[name]; !over && slices.Contains(s.Pass, name) {
			base = shelltext.Set(base, name, value)
		}
	}
	if p.OnTerminal() && p.Env["TERM"] == "" {
		base = shelltext.Set(base, "TERM", "xterm-256color")
	}
	if p.Session == "" {
		r.Env.Policy, r.Env.Base = messages.EnvCaller, base
		return nil
	}
	r.Open = &messages.SessionPlan{Backend: messages.BackendShell, Dir: r.Dir, Env: messages.Env{Policy: messages.EnvCaller, Base: base}, Umask: r.Umask, Shell: p.Shell, Limits: r.Limits}
	if p.OnTerminal() {
		r.Open.Backend, r.Open.Terminal = messages.BackendShellPTY, r.Terminal
	}
	r.Env.Set, r.Umask, r.Shell, r.Limits = named, "", "", messages.Limits{}
	if p.Cwd == "" {
		r.Dir = "" // the shell's current directory
	}
	return nil
}
