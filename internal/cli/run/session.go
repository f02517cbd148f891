package run

import (
	"cmp"
	"context"
	"fmt"

	"troupe/host"
	"troupe/internal/cli/out"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// forSession turns the request into one for a session. A new session starts with our
// directory, environment, umask and limits; an open one keeps its own.
func (g *foreground) forSession() error {
	r, f := &g.request, g.flags
	plan := &messages.SessionPlan{
		Dir: r.Dir, Env: messages.Env{Policy: r.Env.Policy, Base: r.Env.Base}, Umask: r.Umask, Shell: f.Shell, Limits: r.Limits,
	}
	info, open, err := findSession(context.Background(), g.host, cmp.Or(r.Scope, messages.MainScope), r.Session)
	switch {
	case err != nil:
		return err
	case open && info.Shell == "": // on pipes: each command is a process with our environment
		r.Open, r.Shell = &messages.SessionPlan{Backend: info.Backend}, f.Shell
		if f.Cwd == "" {
			r.Dir = ""
		}
		return nil
	case open && g.waitsForItself(info):
		return inItself(info, "run it without -s, or in the background with -b")
	}
	if !open && plan.Shell == "" {
		if plan.Shell, err = liveShell(g.main); err != nil {
			return err
		}
	}
	if f.PTY {
		plan.Backend, plan.Terminal = messages.BackendShellPTY, r.Terminal
	}
	if open && info.Backend == messages.BackendShellPTY {
		if f.Streams.Value == string(messages.SeparateStreams) {
			return out.Unsupported("streams", fmt.Sprintf("session %s runs on a terminal, which has one stream", info.Session), "leave --streams out, or use another session")
		}
		r.Streams = messages.MergedStreams
	}
	r.Open, r.Env.Policy, r.Env.Base, r.Umask, r.Shell = plan, "", nil, "", ""
	r.Limits = messages.Limits{}
	if f.Cwd == "" {
		r.Dir = "" // the shell's current directory
	}
	return nil
}

// findSession returns a session, and whether it is open.
func findSession(ctx context.Context, h host.Doer, scope messages.ScopePath, id messages.SessionID) (in messages.SessionInfo, open bool, err error) {
	list, err := host.Ask(ctx, h, messages.ListSessions{Scope: scope})
	for _, s := range list.Sessions {
		if s.Scope == scope && s.Session == id {
			return s, true, nil
		}
	}
	return in, false, err
}

// waitsForItself reports whether we wait for a session in which we may run.
func (g *foreground) waitsForItself(info messages.SessionInfo) bool {
	return !g.flags.Background && info.Running > 0 && g.inside(info)
}

func inItself(info messages.SessionInfo, hint string) error {
	return &messages.Error{
		Code: messages.Busy, Reason: "session", Message: fmt.Sprintf("session %s is running a command, which may have started this one: its shell would wait for itself", info.Session), Hint: hint,
	}
}

// inside reports whether we run as a command of the session.
func (g *foreground) inside(info messages.SessionInfo) bool {
	scope, _ := g.main.Getenv(shelltext.ScopeVar)
	session, _ := g.main.Getenv(shelltext.SessionVar)
	return scope == string(info.Scope) && session == string(info.Session)
}
