package messages_test

import (
	"strings"
	"testing"

	"troupe/messages"
)

// What cannot be a session, or a command in one, is refused before there is anything
// of it, with what is wrong and a sentence.
func TestBadInputOpen(t *testing.T) {
	run := func(session messages.SessionID, plan messages.SessionPlan) messages.RunCommand {
		return messages.RunCommand{Program: messages.Program{Text: "true"}, Session: session, Open: &plan}
	}
	shell := messages.SessionPlan{Backend: messages.BackendShell}
	with := func(change func(*messages.RunCommand)) messages.RunCommand {
		r := run("s", shell)
		change(&r)
		return r
	}
	for name, good := range map[string]messages.RunCommand{
		"shell": run("s", shell), "left open": run("s", messages.SessionPlan{}), "pipes": run("", messages.SessionPlan{Backend: messages.BackendPipe}),
		"terminal": run("s", messages.SessionPlan{Backend: messages.BackendShellPTY, Terminal: messages.Terminal{Rows: 24, Cols: 80}}),
		"all": run("s", messages.SessionPlan{
			Backend: messages.BackendShell, Dir: "/", Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"noise"}, Set: []string{"A=1"}}, Umask: "0022", Shell: "zsh",
		}),
		"detached on pipes": func() messages.RunCommand {
			r := run("s", messages.SessionPlan{Backend: messages.BackendPipe})
			r.Mode, r.Umask = messages.ModeDetached, "022"
			return r
		}(),
	} {
		if err := good.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, bad := range map[string]struct {
		run    messages.RunCommand
		code   messages.Code
		reason string
	}{
		"relative":           {run("s", messages.SessionPlan{Dir: "x"}), messages.InvalidParams, "cwd"},
		"NUL":                {run("s", messages.SessionPlan{Shell: "/a\x00"}), messages.InvalidParams, "shell"},
		"a NUL of a kind":    {run("s", messages.SessionPlan{Backend: "a\x00"}), messages.InvalidParams, "backend"},
		"no variable":        {run("s", messages.SessionPlan{Env: messages.Env{Set: []string{"1=2"}}}), messages.EnvRefused, "env"},
		"no value":           {run("s", messages.SessionPlan{Env: messages.Env{Set: []string{"A"}}}), messages.EnvRefused, "env"},
		"too many variables": {run("s", messages.SessionPlan{Env: messages.Env{Base: make([]string, messages.MaxEnv+1)}}), messages.TooLarge, "too_many"},
		"no policy":          {run("s", messages.SessionPlan{Env: messages.Env{Policy: "all"}}), messages.InvalidParams, "env_policy"},
		"no umask":           {run("s", messages.SessionPlan{Umask: "9"}), messages.InvalidParams, "umask"},
		"no size":            {run("s", messages.SessionPlan{Terminal: messages.Terminal{Rows: 1}}), messages.InvalidParams, "invalid_size"},
		"no terminal":        {run("s", messages.SessionPlan{Backend: messages.BackendShell, Terminal: messages.Terminal{Rows: 1, Cols: 1}}), messages.InvalidParams, "terminal"},
		"variables on pipes": {run("s", messages.SessionPlan{Backend: messages.BackendPipe, Env: messages.Env{Set: []string{"A=1"}}}), messages.Unsupported, "env"},
		"umask on a terminal": {
			run("s", messages.SessionPlan{Backend: messages.BackendPTY, Umask: "022"}), messages.Unsupported, "env",
		},
		"the default": {run("", shell), messages.InvalidParams, "session"},
		"the default by name": {
			run(messages.DefaultSession, messages.SessionPlan{}), messages.InvalidParams, "session",
		},
		"no name":  {run(messages.SessionID(strings.Repeat("x", 300)), shell), messages.InvalidParams, "session"},
		"detached": {with(func(r *messages.RunCommand) { r.Mode = messages.ModeDetached }), messages.Unsupported, "detach"},
		"kept":     {with(func(r *messages.RunCommand) { r.OnExit = messages.KeepChildren }), messages.Unsupported, "on_exit"},
		"masked":   {with(func(r *messages.RunCommand) { r.Umask = "022" }), messages.Unsupported, "umask"},
		"host":     {with(func(r *messages.RunCommand) { r.Stdin = messages.StdinHost }), messages.Unsupported, "stdin"},
	} {
		err := bad.run.Check()
		if err == nil || err.Code != bad.code || err.Reason != bad.reason || err.Message == "" {
			t.Errorf("%s: got %+v", name, err)
			continue
		}
		open := messages.OpenSession{Session: bad.run.Session, SessionPlan: *bad.run.Open}
		if same := open.Check(); bad.code != messages.Unsupported && bad.run.Open.Backend != "" && (same == nil || same.Reason != err.Reason) {
			t.Errorf("%s: a session of its own got %+v", name, same)
		}
	}
}
