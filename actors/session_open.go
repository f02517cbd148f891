package actors

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/messages"
)

// start opens the executor. Without one the session refuses requests.
func (s *session) start(ctx actor.Context) {
	if s.noExecutor {
		s.failed = &messages.Error{
			Code: messages.Refused, Reason: "unsupervised", Message: "session " + string(s.open.Session) + " crashed too often and takes no more commands",
			Hint: "stop its jobs and use another session, or close this one and open it again",
		}
		s.sendOpened(ctx)
		return
	}
	name := cmp.Or(s.open.Backend, DefaultBackend)
	backend, ok := s.deps.Backends[name]
	if !ok {
		s.cannotOpen(ctx, &messages.Error{
			Code: messages.Unsupported, Reason: "backend", Message: "this node has no " + name + " sessions", Hint: "use another kind; pipe always exists",
		})
		return
	}
	can, env := backend.Can(), []string(nil)
	if can.Keeps {
		var refused *messages.Error
		if env, refused = s.environ(); refused != nil {
			s.cannotOpen(ctx, refused)
			return
		}
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	shell, err := backend.Open(backends.ExecutorSpec{
		Scope: s.open.Scope, Session: s.open.Session, Dir: cmp.Or(s.open.Dir, s.deps.Dir), Env: env, OwnPath: s.ownPath(), Umask: s.open.Mask(),
		Shell: s.open.Shell, Terminal: s.open.Terminal, Limits: s.open.Limits,
	}, s.inherited, func(fact messages.ProcessFact) { root.Send(self, fact) })
	if err != nil {
		s.cannotOpen(ctx, asError(err, messages.SpawnFailed))
		return
	}
	s.open.Backend, s.executor, s.capabilities = name, shell, can
	s.machine = lifecycle.NewSession(s.capabilities.Parallel, s.capabilities.Queue)
	if s.announced || !s.tentative || !can.Keeps {
		s.sendOpened(ctx)
	}
}

// sendOpened reports the open session.
func (s *session) sendOpened(ctx actor.Context) {
	s.announced = true
	ctx.Send(ctx.Parent(), s.opens())
}

// announce reports the session once: when its first command can run, or a client opens it.
func (s *session) announce(ctx actor.Context) {
	if !s.announced && s.executor != nil {
		s.sendOpened(ctx)
	}
}

// startRejected takes that a command cannot run. If no command has run in the live shell, its
// setup may be the reason. A tentative session without other commands is not opened then, so
// that a mistyped directory leaves no session.
func (s *session) startRejected(ctx actor.Context, err *messages.Error) {
	if s.neverRan = s.capabilities.Keeps && !s.ran && len(s.inherited) == 0; !s.neverRan || s.announced || s.closing != nil || len(s.unchecked) > 0 {
		return
	}
	s.executor.Release()
	s.executor, s.neverRan = nil, false
	s.cannotOpen(ctx, err)
}

// environ returns the environment with which the session's live shell starts.
func (s *session) environ() ([]string, *messages.Error) {
	env, _, err := s.deps.Environment(messages.RunCommand{
		Env: messages.Env{Policy: s.open.Env.Policy, Base: s.open.Env.Base, Set: s.open.Env.Set},
	}, JobEnv{Scope: s.open.Scope, Session: s.open.Session})
	return env, err
}

// ownPath reports whether the shell starts with the PATH of its client, which may have more
// entries than the shell's own setup makes.
func (s *session) ownPath() bool {
	return s.open.Env.Policy == messages.EnvCaller || slices.ContainsFunc(s.open.Env.Set, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
}

// cannotOpen stores why there is no executor and reports that the session is not open.
func (s *session) cannotOpen(ctx actor.Context, err *messages.Error) {
	s.failed = err
	ctx.Send(ctx.Parent(), openFailed{at: messages.Address{Scope: s.open.Scope, Session: s.open.Session}})
}

// reopen opens the session with another plan if it has no executor, or if no command has run
// in it.
func (s *session) reopen(ctx actor.Context, plan messages.SessionPlan) {
	switch {
	case s.unopened():
	case s.neverRan && s.closing == nil && len(s.unchecked) == 0:
		s.executor.Release()
		s.executor, s.neverRan = nil, false
	default:
		return
	}
	s.open.SessionPlan, s.inherited, s.failed = plan, nil, nil
	s.start(ctx)
}

// planMismatch returns an error if the open session differs from a plan.
func (s *session) planMismatch(plan messages.SessionPlan) *messages.Error {
	if (plan.Backend == "" || plan.Backend == s.open.Backend) && (plan.Shell == "" || sameShell(plan.Shell, s.open.Shell)) {
		return nil
	}
	is := s.open.Backend
	if s.capabilities.Keeps {
		is += ", of " + cmp.Or(s.open.Shell, usualShell)
	}
	return &messages.Error{
		Code: messages.Conflict, Reason: "session",
		Message: fmt.Sprintf("session %s is already open with the kind %s", s.open.Session, is),
		Hint:    "use another name, or close it first",
	}
}

func sameShell(a, b string) bool {
	a, b = cmp.Or(a, usualShell), cmp.Or(b, usualShell)
	return a == b || filepath.Base(a) == filepath.Base(b) && (!filepath.IsAbs(a) || !filepath.IsAbs(b))
}

// opened answers OpenSession. It succeeds again if the session fits the plan.
func (s *session) opened(ctx actor.Context, r messages.OpenSession) {
	s.tentative = false
	if ctx.Sender() != nil {
		s.reopen(ctx, r.SessionPlan)
	}
	clash := s.planMismatch(r.SessionPlan)
	switch {
	case ctx.Sender() == nil:
	case s.failed != nil:
		ctx.Respond(messages.RequestRejected{Err: *s.failed})
	case s.closing != nil:
		refuse(ctx, r, &messages.Error{Code: messages.SessionClosedCode, Message: "the session is being closed", Hint: "open it again after that"})
	case clash != nil:
		refuse(ctx, r, clash)
	default:
		s.announce(ctx)
		ctx.Respond(messages.SessionOpened{Info: s.describe()})
	}
}

// unopened reports whether the session has no executor and no jobs.
func (s *session) unopened() bool {
	return s.failed != nil && s.executor == nil && !s.noExecutor && s.closing == nil && len(s.jobs) == 0
}

// opens returns the report of the open session.
func (s *session) opens() sessionOpened {
	return sessionOpened{ask: s.open, fact: messages.SessionOpened{Info: s.describe()}}
}
