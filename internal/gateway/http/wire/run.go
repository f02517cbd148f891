package wire

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/messages"
)

// Run is the body of POST /v1/jobs: messages.RunCommand as JSON. It has either Command,
// a shell text, or Argv, a program and its arguments.
type Run struct {
	UID           string            `json:"uid,omitempty"`
	Scope         string            `json:"scope,omitempty"`
	Session       string            `json:"session,omitempty"`
	Open          *SessionPlan      `json:"open,omitempty"` // how to open the session if it is not open
	Name          string            `json:"name,omitempty"`
	Replace       bool              `json:"replace,omitempty"` // stop the live job of that name first
	Description   string            `json:"description,omitempty"`
	Tag           string            `json:"tag,omitempty"`
	Command       *string           `json:"command,omitempty"`
	CommandBase64 *string           `json:"command_base64,omitempty"` // a command that is not UTF-8
	Argv          []string          `json:"argv,omitempty"`
	Shell         string            `json:"shell,omitempty"`
	Dir           string            `json:"cwd,omitempty"`
	Env           map[string]string `json:"env,omitempty"`
	EnvUnsafe     bool              `json:"env_unsafe,omitempty"`
	EnvPolicy     string            `json:"env_policy,omitempty"` // allow, clean, or caller with BaseEnv
	BaseEnv       []string          `json:"base_env,omitempty"`   // "K=V"; entries that are not UTF-8 have the prefix "base64:"
	Umask         string            `json:"umask,omitempty"`
	Streams       string            `json:"streams,omitempty"`
	Stdin         string            `json:"stdin,omitempty"`
	Terminal      *Size             `json:"terminal,omitempty"`
	Shown         bool              `json:"shown,omitempty"` // the client shows the job on a real terminal
	Background    bool              `json:"background,omitempty"`
	Detach        bool              `json:"detach,omitempty"`
	LogFile       string            `json:"log_file,omitempty"`
	PromoteAfter  *int64            `json:"promote_after_ms,omitempty"`
	Timeout       *int64            `json:"timeout_ms,omitempty"`
	Grace         *int64            `json:"grace_ms,omitempty"` // 0: none
	OnExit        string            `json:"on_exit,omitempty"`
	OnFinish      []string          `json:"on_finish,omitempty"` // commands and URLs that receive a notice of the end
	MaxOutput     *Quota            `json:"max_output,omitempty"`
	Durability    string            `json:"durability,omitempty"`
	Persist       bool              `json:"persist,omitempty"`
}

// Size is the size of a terminal.
type Size struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// Quota bounds an output.
type Quota struct {
	Bytes  *int64 `json:"bytes,omitempty"`
	Policy string `json:"policy,omitempty"`
}

// encoded is the prefix of a BaseEnv entry that is not UTF-8. No variable starts with
// it: its name would contain a colon, before the '=' of base64.
const encoded = "base64:"

// Request returns the command that the body describes, without its key, or why it is
// invalid. The node checks the rest.
func (w Run) Request() (messages.RunCommand, *messages.Error) {
	r := messages.RunCommand{
		UID: messages.UID(w.UID), Scope: messages.ScopePath(w.Scope), Session: messages.SessionID(w.Session),
		Labels: messages.Labels{Name: w.Name, Description: w.Description, Tag: w.Tag}, Replace: w.Replace, Program: messages.Program{Argv: w.Argv, Shell: w.Shell}, Dir: w.Dir,
		Env: messages.Env{Policy: messages.EnvPolicy(w.EnvPolicy)}, Umask: w.Umask,
		Stdio: messages.Stdio{Streams: messages.StreamMode(w.Streams), Stdin: messages.StdinMode(w.Stdin)},
		Mode:  w.mode(), Store: messages.Store{LogFile: w.LogFile, Durability: w.Durability, Persist: w.Persist}, OnExit: messages.OnExit(w.OnExit), OnFinish: w.OnFinish,
	}
	for _, fill := range []func(*messages.RunCommand) *messages.Error{w.text, w.environment, w.times, w.bounds, w.session} {
		if err := fill(&r); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (w Run) text(r *messages.RunCommand) *messages.Error {
	switch {
	case w.Argv != nil && (w.Command != nil || w.CommandBase64 != nil), w.Command != nil && w.CommandBase64 != nil:
		return messages.Invalid("command", "the request has more than one of command, command_base64 and argv; give one of them")
	case w.Argv != nil && len(w.Argv) == 0:
		return messages.Invalid("empty_command", "argv is empty; give a program and its arguments")
	case r.Stdin == messages.StdinHost:
		return messages.Invalid("stdin", "stdin host does not work through the daemon; use null or pipe")
	}
	if w.Command != nil {
		r.Text = *w.Command
	}
	if w.CommandBase64 != nil {
		text, err := base64.StdEncoding.DecodeString(*w.CommandBase64)
		if err != nil {
			return messages.Invalid("command_base64", "invalid base64 in command_base64: "+err.Error())
		}
		r.Text = string(text)
	}
	return nil
}

func (w Run) environment(r *messages.RunCommand) *messages.Error {
	switch {
	case w.EnvUnsafe:
		return &messages.Error{
			Code: messages.Unsupported, Reason: "env_unsafe", Message: "variables that make programs run other code cannot be set through the daemon",
			Hint: "set them inside the command, where they can be seen",
		}
	case len(w.BaseEnv) > 0 && r.Env.Policy != messages.EnvCaller:
		return messages.Invalid("base_env", "base_env is only for the env_policy caller; use env")
	}
	names := make([]string, 0, len(w.Env))
	for name := range w.Env {
		names = append(names, name)
	}
	slices.Sort(names) // a repeated request must be identical
	for _, name := range names {
		if !messages.ValidEnvName(name) {
			return &messages.Error{
				Code: messages.EnvRefused, Reason: "env", Message: "a key of env is not a valid variable name",
				Hint: "use letters, digits and '_', not beginning with a digit",
			}
		}
		r.Env.Set = append(r.Env.Set, name+"="+w.Env[name])
	}
	for _, entry := range w.BaseEnv {
		if code, ok := strings.CutPrefix(entry, encoded); ok {
			b, err := base64.StdEncoding.DecodeString(code)
			if err != nil {
				return messages.Invalid("base_env", "invalid base64 in an entry of base_env: "+err.Error())
			}
			entry = string(b)
		}
		r.Env.Base = append(r.Env.Base, entry)
	}
	return nil
}

func (w Run) mode() messages.Mode {
	switch {
	case w.Detach:
		return messages.ModeDetached
	case w.Background:
		return messages.ModeAsync
	}
	return ""
}

func (w Run) session(r *messages.RunCommand) *messages.Error {
	if w.Open == nil {
		return nil
	}
	plan, err := w.Open.Request()
	if err != nil {
		err.Reason = "open." + err.Reason
		return err
	}
	r.Open = &plan
	return nil
}

func (w Run) times(r *messages.RunCommand) *messages.Error {
	var err *messages.Error
	if r.PromoteAfter, err = span("promote_after_ms", w.PromoteAfter); err != nil {
		return err
	}
	if r.Timeout, err = span("timeout_ms", w.Timeout); err != nil {
		return err
	}
	r.Grace, err = GraceOf(w.Grace)
	return err
}

func (w Run) bounds(r *messages.RunCommand) *messages.Error {
	if w.Terminal != nil {
		if err := w.Terminal.check(); err != nil {
			return err
		}
		r.Terminal = messages.Terminal{Rows: w.Terminal.Rows, Cols: w.Terminal.Cols}
	}
	r.Shown = w.Shown
	if w.MaxOutput != nil {
		r.Quota.Policy = w.MaxOutput.Policy
		if n := w.MaxOutput.Bytes; n != nil {
			if *n < 1 {
				return messages.Invalid("max_output.bytes", "the output quota must be a positive number of bytes; leave it out for the node's own")
			}
			r.Quota.Bytes = *n
		}
	}
	return nil
}

func (s Size) check() *messages.Error {
	if s.Rows < 1 || s.Cols < 1 || s.Rows > math.MaxUint16 || s.Cols > math.MaxUint16 {
		return messages.Invalid("invalid_size", "a terminal has 1 to 65535 rows and columns")
	}
	return nil
}

// NewRun returns the body for a request. Fractions of a millisecond are rounded up.
func NewRun(r messages.RunCommand) Run {
	w := Run{
		UID: string(r.UID), Scope: string(r.Scope), Session: string(r.Session), Name: r.Name, Replace: r.Replace,
		Description: r.Description, Tag: r.Tag, Argv: r.Argv, Shell: r.Shell, Dir: r.Dir,
		EnvPolicy: string(r.Env.Policy), Umask: r.Umask, Streams: string(r.Streams), Stdin: string(r.Stdin),
		Background: r.Mode.Background(), Detach: r.Mode == messages.ModeDetached, LogFile: r.LogFile, OnExit: string(r.OnExit), OnFinish: r.OnFinish, Durability: r.Durability, Persist: r.Persist,
		PromoteAfter: positive(r.PromoteAfter), Timeout: positive(r.Timeout), Grace: GraceMS(r.Grace),
	}
	if r.Open != nil {
		plan := NewSessionPlan(*r.Open)
		w.Open = &plan
	}
	switch {
	case r.Text == "":
	case utf8.ValidString(r.Text):
		w.Command = &r.Text
	default:
		code := base64.StdEncoding.EncodeToString([]byte(r.Text))
		w.CommandBase64 = &code
	}
	for _, entry := range r.Env.Set {
		if w.Env == nil {
			w.Env = map[string]string{}
		}
		name, value, _ := strings.Cut(entry, "=")
		w.Env[name] = value
	}
	for _, entry := range r.Env.Base {
		if !utf8.ValidString(entry) || strings.HasPrefix(entry, encoded) {
			entry = encoded + base64.StdEncoding.EncodeToString([]byte(entry))
		}
		w.BaseEnv = append(w.BaseEnv, entry)
	}
	if r.Terminal != (messages.Terminal{}) {
		w.Terminal = &Size{r.Terminal.Rows, r.Terminal.Cols}
	}
	w.Shown = r.Shown
	if r.Quota != (messages.Quota{}) {
		w.MaxOutput = &Quota{Policy: r.Quota.Policy}
		if r.Quota.Bytes != 0 {
			w.MaxOutput.Bytes = &r.Quota.Bytes
		}
	}
	return w
}

// span returns a duration, which must be positive if given.
func span(field string, ms *int64) (time.Duration, *messages.Error) {
	switch {
	case ms == nil:
		return 0, nil
	case *ms < 1 || *ms > int64(messages.MaxDuration/time.Millisecond):
		return 0, messages.Invalid(field, field+" must be a positive number of milliseconds, at most ten years; leave it out for none")
	}
	return time.Duration(*ms) * time.Millisecond, nil
}

// GraceOf returns a grace as messages have it: 0 for absent (the default), negative for
// none.
func GraceOf(ms *int64) (time.Duration, *messages.Error) {
	switch {
	case ms == nil:
		return 0, nil
	case *ms == 0:
		return -1, nil
	case *ms < 0 || *ms > int64(messages.MaxDuration/time.Millisecond):
		return 0, messages.Invalid("grace_ms", "grace_ms must be a number of milliseconds, 0 to kill at once, at most ten years; leave it out for the usual grace")
	}
	return time.Duration(*ms) * time.Millisecond, nil
}

// GraceMS returns a grace as JSON has it.
func GraceMS(d time.Duration) *int64 {
	if d < 0 {
		return new(int64)
	}
	return positive(d)
}

// positive returns a duration in milliseconds, rounded up, or nil for 0.
func positive(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := int64((d + time.Millisecond - 1) / time.Millisecond)
	return &ms
}

// Encodable returns why JSON cannot carry a request: bytes that are not UTF-8 in a
// field without a base64 form.
func (w Run) Encodable() error {
	texts := append([]string{w.Dir, w.Shell, w.LogFile, w.Name, w.Description, w.Tag, w.Scope, w.Session}, slices.Concat(w.Argv, w.OnFinish)...)
	for name, value := range w.Env {
		texts = append(texts, name, value)
	}
	if w.Open != nil {
		texts = append(texts, w.Open.texts()...)
	}
	return encodable(texts)
}

func noText(text string) *messages.Error {
	return messages.Invalid("utf8", fmt.Sprintf("%.64q is not UTF-8 text, which a request to the daemon must be", text))
}
