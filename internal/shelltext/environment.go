package shelltext

import (
	"fmt"
	"strings"

	"troupe/messages"
)

// Variables that name a job to its own processes, so that a troupe inside the job joins
// its scope. SocketVar is set only if a daemon listens.
const (
	ScopeVar   = "TROUPE_SCOPE"
	SessionVar = "TROUPE_SESSION_ID"
	JobVar     = "TROUPE_JOB_ID"
	SocketVar  = "TROUPE_SOCKET"
	StateVar   = "TROUPE_STATE"
)

// Environment builds the environment of a job by the policy of its request: allowed
// inherited variables, then the request's own Env. host is the environment of this
// process. A repeated name keeps its first position and its last value.
//
// dropped names what was given but left out: invalid entries of BaseEnv, and secrets
// that a pattern of the allow-list would have let through. The error env_refused means
// that a remote request named a variable that makes other programs run its code. A
// user's request (EnvCaller) may name any.
func Environment(run messages.RunCommand, host []string) (env, dropped []string, err *messages.Error) {
	e := newEnvironment(len(run.Env.Base) + len(run.Env.Set))
	switch run.Env.Policy {
	case messages.EnvCaller:
		e.inherit(run.Env.Base, func(string) bool { return true })
	case messages.EnvClean:
	default:
		named := names(run.Env.Set)
		e.inherit(host, func(name string) bool {
			if !allowed(name) {
				return false
			}
			if Secret(name) && !named[name] {
				e.dropped = append(e.dropped, label(name))
				return false
			}
			return true
		})
	}
	if run.Env.Policy == messages.EnvAgent {
		e.inherit(NonInteractive(SetsCI(host)), func(string) bool { return true })
	}
	for _, entry := range run.Env.Set {
		name, _, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "" || strings.ContainsRune(entry, 0):
			return nil, nil, &messages.Error{
				Code: messages.EnvRefused, Reason: "env", Message: fmt.Sprintf("invalid environment entry %q", label(name)),
				Hint: "use NAME=value, without NUL bytes",
			}
		case run.Env.Policy != messages.EnvCaller && dangerous(name):
			return nil, nil, &messages.Error{
				Code: messages.EnvRefused, Reason: name,
				Message: fmt.Sprintf("%s is not taken from a request: it makes other programs run code of its choice", name),
				Hint:    "set it inside the command, where it can be seen, or give the caller's whole environment (env_policy caller)",
			}
		}
		e.set(name, entry)
	}
	return e.entries, e.dropped, nil
}

// WithSelf adds the variables that name the job, except empty ones. It may modify env.
func WithSelf(env []string, scope messages.ScopePath, session messages.SessionID, job messages.JobID) []string {
	for _, v := range [][2]string{{ScopeVar, string(scope)}, {SessionVar, string(session)}, {JobVar, string(job)}} {
		if v[1] != "" {
			env = Set(env, v[0], v[1])
		}
	}
	return env
}

// Set sets a variable in place, or appends it. It may modify env.
func Set(env []string, name, value string) []string {
	entry := name + "=" + value
	for i, have := range env {
		if strings.HasPrefix(have, entry[:len(name)+1]) {
			env[i] = entry
			return env
		}
	}
	return append(env, entry)
}

// environment is an environment under construction.
type environment struct {
	entries []string
	at      map[string]int // index into entries, by name
	dropped []string
}

// SelfVars bounds the variables that WithSelf adds.
const SelfVars = 3

func newEnvironment(size int) environment {
	return environment{entries: make([]string, 0, size+SelfVars), at: make(map[string]int, size)}
}

func (e *environment) set(name, entry string) {
	if i, ok := e.at[name]; ok {
		e.entries[i] = entry
		return
	}
	e.at[name] = len(e.entries)
	e.entries = append(e.entries, entry)
}

// inherit adds the entries that keep accepts, and drops invalid ones.
func (e *environment) inherit(entries []string, keep func(name string) bool) {
	for _, entry := range entries {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			e.dropped = append(e.dropped, label(name))
			continue
		}
		if keep(name) {
			e.set(name, entry)
		}
	}
}

func names(entries []string) map[string]bool {
	have := make(map[string]bool, len(entries))
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		have[name] = true
	}
	return have
}

// labelLength bounds a name in a record, in bytes.
const labelLength = 64

// label returns a name as valid text for a record.
func label(name string) string {
	if name == "" {
		return "="
	}
	if len(name) > labelLength {
		name = name[:labelLength]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(name, "�"), "\x00", "�")
}

// allowed reports whether a name is on the allow-list. Jobs of models and remote
// clients inherit these variables of the host and no others.
func allowed(name string) bool {
	switch name {
	case "PATH", "HOME", "LANG", "TERM", "SHELL", "USER", "LOGNAME", "TMPDIR":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// Secret reports whether a name looks like that of a secret. Settings that inherit more
// than the allow-list leave these out.
func Secret(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range [...]string{"TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return strings.HasSuffix(name, "_API_KEY")
}

// dangerous reports whether a variable makes programs of the job run code that it holds
// or names.
func dangerous(name string) bool {
	switch name {
	case "BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "PS4", "IFS", "PYTHONSTARTUP":
		return true
	}
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "BASH_FUNC_")
}
