package backends

import (
	"troupe/internal/codec"
	"troupe/messages"
)

// shellMeta is the Meta of a live shell, in CBOR. The metadata of a command has none of its keys,
// and so no Backend.
type shellMeta struct {
	Backend  string             `cbor:"101,keyasint,omitzero"`
	Scope    messages.ScopePath `cbor:"102,keyasint,omitzero"`
	Session  messages.SessionID `cbor:"103,keyasint,omitzero"`
	Dir      string             `cbor:"104,keyasint,omitzero"`
	Umask    int                `cbor:"105,keyasint,omitzero"`
	Shell    string             `cbor:"106,keyasint,omitzero"`
	Terminal messages.Terminal  `cbor:"107,keyasint,omitzero"`
	Limits   messages.Limits    `cbor:"108,keyasint,omitzero"`
}

// ShellMeta returns the Spec.Meta of a live shell, which identifies its session in an
// inventory. It leaves out the environment, which may hold secrets, and a directory and limits
// that do not fit into MaxMeta.
func ShellMeta(p ExecutorSpec, backend string) []byte {
	m := shellMeta{
		Backend: backend, Scope: p.Scope, Session: p.Session, Dir: p.Dir, Umask: p.Umask, Shell: p.Shell, Terminal: p.Terminal, Limits: p.Limits,
	}
	for _, spare := range []func(){
		func() {},
		func() { m.Dir = "" },
		func() { m.Limits = messages.Limits{} },
	} {
		spare()
		if text, err := codec.Encode(m); err == nil && len(text) <= MaxMeta {
			return text
		}
	}
	return nil // unreachable: names have lower bounds
}

// ReadShellMeta parses Meta into the executor without its environment, and the name of its
// backend. ok is false for the Meta of a command.
func ReadShellMeta(meta []byte) (p ExecutorSpec, backend string, ok bool) {
	var m shellMeta
	if codec.Decode(meta, &m) != nil || m.Backend == "" {
		return ExecutorSpec{}, "", false
	}
	return ExecutorSpec{
		Scope: m.Scope, Session: m.Session, Dir: m.Dir, Umask: m.Umask, Shell: m.Shell, Terminal: m.Terminal, Limits: m.Limits,
	}, m.Backend, true
}
