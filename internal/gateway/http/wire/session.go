package wire

import (
	"slices"
	"unicode/utf8"

	"troupe/messages"
)

// SessionPlan says how to open a session: messages.SessionPlan as JSON.
type SessionPlan struct {
	Backend   string            `json:"backend,omitempty"`
	Dir       string            `json:"cwd,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	EnvPolicy string            `json:"env_policy,omitempty"`
	BaseEnv   []string          `json:"base_env,omitempty"`
	Umask     string            `json:"umask,omitempty"`
	Shell     string            `json:"shell,omitempty"`
	Terminal  *Size             `json:"terminal,omitempty"`
}

// OpenSession is the body of POST /v1/sessions: a session and its plan.
type OpenSession struct {
	Scope     string            `json:"scope,omitempty"`
	Session   string            `json:"session"`
	Backend   string            `json:"backend,omitempty"`
	Dir       string            `json:"cwd,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	EnvPolicy string            `json:"env_policy,omitempty"`
	BaseEnv   []string          `json:"base_env,omitempty"`
	Umask     string            `json:"umask,omitempty"`
	Shell     string            `json:"shell,omitempty"`
	Terminal  *Size             `json:"terminal,omitempty"`
}

// Request returns the plan that the object describes.
func (w SessionPlan) Request() (messages.SessionPlan, *messages.Error) {
	run := Run{Env: w.Env, EnvPolicy: w.EnvPolicy, BaseEnv: w.BaseEnv, Terminal: w.Terminal}
	filled := messages.RunCommand{Env: messages.Env{Policy: messages.EnvPolicy(w.EnvPolicy)}}
	for _, fill := range []func(*messages.RunCommand) *messages.Error{run.environment, run.bounds} {
		if err := fill(&filled); err != nil {
			return messages.SessionPlan{}, err
		}
	}
	return messages.SessionPlan{
		Backend: w.Backend, Dir: w.Dir, Env: messages.Env{Policy: filled.Env.Policy, Base: filled.Env.Base, Set: filled.Env.Set},
		Umask: w.Umask, Shell: w.Shell, Terminal: filled.Terminal,
	}, nil
}

// NewSessionPlan returns the object for a plan.
func NewSessionPlan(p messages.SessionPlan) SessionPlan {
	run := NewRun(messages.RunCommand{Env: messages.Env{Set: p.Env.Set, Base: p.Env.Base}, Stdio: messages.Stdio{Terminal: p.Terminal}})
	return SessionPlan{
		Backend: p.Backend, Dir: p.Dir, Env: run.Env, EnvPolicy: string(p.Env.Policy), BaseEnv: run.BaseEnv,
		Umask: p.Umask, Shell: p.Shell, Terminal: run.Terminal,
	}
}

// texts returns the plan's texts that JSON carries unchanged.
func (w SessionPlan) texts() []string {
	all := []string{w.Dir, w.Shell, w.Backend}
	for name, value := range w.Env {
		all = append(all, name, value)
	}
	return all
}

// Request returns the request that the body describes.
func (w OpenSession) Request() (messages.OpenSession, *messages.Error) {
	plan, err := SessionPlan{w.Backend, w.Dir, w.Env, w.EnvPolicy, w.BaseEnv, w.Umask, w.Shell, w.Terminal}.Request()
	return messages.OpenSession{Scope: messages.ScopePath(w.Scope), Session: messages.SessionID(w.Session), SessionPlan: plan}, err
}

// NewOpenSession returns the body for a request.
func NewOpenSession(r messages.OpenSession) OpenSession {
	p := NewSessionPlan(r.SessionPlan)
	return OpenSession{string(r.Scope), string(r.Session), p.Backend, p.Dir, p.Env, p.EnvPolicy, p.BaseEnv, p.Umask, p.Shell, p.Terminal}
}

// Encodable returns why JSON cannot carry the request, as for a run.
func (w OpenSession) Encodable() error {
	plan := SessionPlan{Backend: w.Backend, Dir: w.Dir, Env: w.Env, Shell: w.Shell}
	return encodable(append(plan.texts(), w.Scope, w.Session))
}

func encodable(texts []string) error {
	if i := slices.IndexFunc(texts, func(s string) bool { return !utf8.ValidString(s) }); i >= 0 {
		return noText(texts[i])
	}
	return nil
}
