package backends

import (
	"encoding/json"

	"troupe/messages"
)

// shellMeta is the Meta of a live shell.
type shellMeta struct {
	Live     int                `json:"live_shell"` // 1; distinguishes it from the Meta of a command
	Backend  string             `json:"backend"`
	Scope    messages.ScopePath `json:"scope"`
	Session  messages.SessionID `json:"session"`
	Dir      string             `json:"dir,omitempty"`
	Umask    int                `json:"umask"`
	Shell    string             `json:"shell,omitempty"`
	Terminal messages.Terminal  `json:"terminal,omitzero"`
	Limits   messages.Limits    `json:"limits,omitzero"`
}

// ShellMeta returns the Spec.Meta of a live shell, which identifies its session in an
// inventory. It leaves out the environment, which may hold secrets, and a directory that does
// not fit into MaxMeta.
func ShellMeta(p ExecutorSpec, backend string) []byte {
	m := shellMeta{
		Live: 1, Backend: backend, Scope: p.Scope, Session: p.Session, Dir: p.Dir, Umask: p.Umask, Shell: p.Shell, Terminal: p.Terminal,
		Limits: p.Limits,
	}
	text, err := json.Marshal(m)
	if err == nil && len(text) > MaxMeta {
		m.Dir = ""
		text, err = json.Marshal(m)
	}
	if err != nil || len(text) > MaxMeta {
		return nil // unreachable: names have lower bounds
	}
	return text
}

// ReadShellMeta parses Meta into the executor without its environment, and the name of its
// backend. ok is false for the Meta of a command.
func ReadShellMeta(meta []byte) (p ExecutorSpec, backend string, ok bool) {
	var m shellMeta
	if json.Unmarshal(meta, &m) != nil || m.Live != 1 || m.Backend == "" {
		return ExecutorSpec{}, "", false
	}
	return ExecutorSpec{
		Scope: m.Scope, Session: m.Session, Dir: m.Dir, Umask: m.Umask, Shell: m.Shell, Terminal: m.Terminal, Limits: m.Limits,
	}, m.Backend, true
}
