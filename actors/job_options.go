package actors

import (
	"cmp"
	"time"

	"troupe/messages"
)

// jobOptions are what of its request a job still needs that has begun; its session has them,
// too, and nobody changes them.
type jobOptions struct {
	open  *messages.SessionPlan // as RunCommand.Open, and the shell with it
	shell string

	background   bool
	shown        bool
	named        bool // its directory was asked for
	promoteAfter time.Duration
	grace        time.Duration
	onExit       messages.OnExit
}

func jobOptionsOf(r *messages.RunCommand) *jobOptions {
	return &jobOptions{
		open: r.Open, shell: r.Shell, background: r.Background, shown: r.Shown, named: r.Dir != "",
		promoteAfter: r.PromoteAfter, grace: r.Grace, onExit: r.OnExit,
	}
}

// plan is how a run that names a session opens it. The shell that it is to run in, if
// its plan names none, is that of the session.
func (t *jobOptions) plan() messages.SessionPlan {
	if t.open == nil {
		return messages.SessionPlan{}
	}
	plan := *t.open
	plan.Backend = cmp.Or(plan.Backend, messages.BackendShell)
	if plan.Live() {
		plan.Shell = cmp.Or(plan.Shell, t.shell)
	}
	return plan
}
