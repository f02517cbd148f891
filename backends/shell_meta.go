package backends

import (
	"encoding/json"

	"troupe/messages"
)

// shellMeta is what the Meta of a live shell tells.
type shellMeta struct {
	Live     int                `json:"live_shell"` // 1: no command's
	Backend  string             `json:"backend"`
	Scope    messages.ScopePath `json:"scope"`
	Session  messages.SessionID `json:"session"`
	Dir      string             `json:"dir,omitempty"`
	Umask    int                `json:"umask"`
	Shell    string             `json:"shell,omitempty"`
	Terminal messages.Terminal  `json:"terminal,omitzero"`
}

// ShellMeta is the Spec.Meta of a live shell: it tells whose it is, to who finds it in
// an inventory. The environment of the place, which may hold secrets, is not in it. A
// directory for which there is no room within MaxMeta is left out.
func ShellMeta(p ExecutorSpec, backend string) []byte {
	m := shellMeta{
		Live: 1, Backend: backend, Scope: p.Scope, Session: p.Session, Dir: p.Dir, Umask: p.Umask, Shell: p.Shell, Terminal: p.Terminal,
	}
	text, err := json.Marshal(m)
	if err == nil && len(text) > MaxMeta {
		m.Dir = ""
		text, err = json.Marshal(m)
	}
	if err != nil || len(text) > MaxMeta {
		return nil // names are bounded far below it
	}
	return text
}

// ReadShellMeta takes it back: the place without its environment, and the name of its
// backend. It is false for the Meta of a command.
func ReadShellMeta(meta []byte) (p ExecutorSpec, backend string, ok bool) {
	var m shellMeta
	if json.Unmarshal(meta, &m) != nil || m.Live != 1 || m.Backend == "" {
		return ExecutorSpec{}, "", false
	}
	return ExecutorSpec{
		Scope: m.Scope, Session: m.Session, Dir: m.Dir, Umask: m.Umask, Shell: m.Shell, Terminal: m.Terminal,
	}, m.Backend, true
}
