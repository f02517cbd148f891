package messages

import (
	"fmt"
	"strings"
)

// SessionPlan describes how a session is opened: its kind, and the start of its live
// shell. An open session is used as it is if its kind and shell match the plan, or the
// plan leaves them open.
type SessionPlan struct {
	// Backend is the kind of the session. "" takes an open session of any kind. For a new
	// session it means BackendPipe in OpenSession, and BackendShell in a run.
	Backend string `json:"backend,omitzero" cbor:"1,keyasint,omitzero"`
	Dir     string `json:"cwd,omitzero" cbor:"2,keyasint,omitzero"` // absolute; "": the node's

	Env      Env      `json:"environment,omitzero" cbor:"3,keyasint,omitzero"` // of a live shell, with the next; as in a run
	Umask    string   `json:"umask,omitzero" cbor:"4,keyasint,omitzero"`       // of a live shell: octal, as "0022"; "": the host's
	Shell    string   `json:"shell,omitzero" cbor:"5,keyasint,omitzero"`       // "": bash; a name or an absolute path
	Terminal Terminal `json:"terminal,omitzero" cbor:"6,keyasint,omitzero"`    // of BackendPTY and BackendShellPTY; zero: the default size
	Limits   Limits   `json:"limits,omitzero" cbor:"7,keyasint,omitzero"`      // of a live shell and all that it starts
}

// The kinds of sessions. In the first two each command is a process of its own. In the
// others one shell runs the commands one by one and keeps its directory and variables.
const (
	BackendPipe     = "pipe"
	BackendPTY      = "pty"
	BackendShell    = "shell"
	BackendShellPTY = "shell-pty"
)

// Live reports whether the plan of a run asks for a live shell.
func (p SessionPlan) Live() bool {
	return p.Backend == "" || p.Backend == BackendShell || p.Backend == BackendShellPTY
}

// Mask returns the umask of the plan as a number, or -1 for the host's.
func (p SessionPlan) Mask() int { return RunCommand{Umask: p.Umask}.Mask() }

// check returns what is wrong with the plan for a session, or nil. The actor that opens
// the session checks whether its backend exists.
func (p SessionPlan) check(session SessionID) *Error {
	as := RunCommand{
		Program: Program{Text: ":", Shell: p.Shell}, Dir: p.Dir, Env: Env{Policy: p.Env.Policy, Base: p.Env.Base, Set: p.Env.Set}, Umask: p.Umask, Stdio: Stdio{Terminal: p.Terminal},
		ProcAttr: ProcAttr{Limits: p.Limits},
	}
	for _, check := range []func() *Error{as.checkNames, as.checkEnv, as.checkModes, as.Limits.check} {
		if err := check(); err != nil {
			return err
		}
	}
	live, terminal := p.Backend == BackendShell || p.Backend == BackendShellPTY, p.Backend == BackendPTY || p.Backend == BackendShellPTY
	switch {
	case strings.ContainsRune(p.Backend, 0) || len(p.Backend) > MaxNameLength:
		return Invalid("backend", fmt.Sprintf("invalid session backend %.64q: use pipe, pty, shell or shell-pty", p.Backend))
	case live && (session == "" || session == DefaultSession):
		return &Error{
			Code: InvalidParams, Reason: "session", Message: "the session default runs its commands in parallel, which a live shell cannot",
			Hint: "give the session another name",
		}
	case p.Backend != "" && !live && p.setsEnv():
		return &Error{
			Code: Unsupported, Reason: "env", Message: fmt.Sprintf("a %s session gives its commands no environment, umask and limits of its own", p.Backend),
			Hint: "name them in each run",
		}
	case p.Terminal != (Terminal{}) && p.Backend != "" && !terminal:
		return Invalid("terminal", fmt.Sprintf("a %s session has no terminal; leave it out, or open one that has", p.Backend))
	}
	return nil
}

// setsEnv reports whether the plan sets a live shell's environment, umask or limits.
func (p SessionPlan) setsEnv() bool {
	return len(p.Env.Set)+len(p.Env.Base) > 0 || p.Env.Policy != "" || p.Umask != "" || !p.Limits.IsZero()
}

// Check returns what is wrong with a request, or nil.
func (r OpenSession) Check() *Error {
	if r.Scope != "" {
		if err := r.Scope.Check(); err != nil {
			return err
		}
	}
	if r.Session != "" {
		if err := r.Session.Check(); err != nil {
			return err
		}
	}
	return r.check(r.Session)
}

// checkOpen returns what is wrong with Open, or nil.
func (r RunCommand) checkOpen() *Error {
	p := r.Open
	if p == nil {
		return nil
	}
	if err := p.check(r.Session); err != nil {
		return err
	}
	if !p.Live() {
		return nil
	}
	if p.Backend == "" && (r.Session == "" || r.Session == DefaultSession) {
		return SessionPlan{Backend: BackendShell}.check(r.Session)
	}
	return r.CheckLive(r.Session)
}

// CheckLive returns what a run asks for that a command in a session's live shell cannot
// have, or nil. Such a command has no process of its own.
func (r RunCommand) CheckLive(session SessionID) *Error {
	unsupported := func(reason, message, hint string) *Error {
		return &Error{Code: Unsupported, Reason: reason, Message: fmt.Sprintf(message, session), Hint: hint}
	}
	switch {
	case r.Mode == ModeDetached:
		return unsupported("detach", "a command in the shell of session %s ends with that shell and cannot be detached", "run it without the session, or in the background")
	case r.OnExit == KeepChildren:
		return unsupported("on_exit", "processes that a command in session %s leaves belong to its shell, and end with it", "use adopt or kill, or run it without the session")
	case r.Umask != "":
		return unsupported("umask", "the umask is that of the shell of session %s", "give it with the session when that is opened, or type it in the command")
	case !r.Limits.IsZero():
		return unsupported("limits", "the limits are those of the shell of session %s", "give them with the session when that is opened, or type ulimit in the command")
	case r.StopSignal != "":
		return unsupported("stop_signal", "a stop of a command in the shell of session %s begins with INT", "leave the signal out, or run it without the session")
	case r.Stdin == StdinHost:
		return unsupported("stdin", "the shell of session %s does not share the host's standard input", "use null or pipe")
	}
	return nil
}
