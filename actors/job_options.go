package actors

import (
	"cmp"
	"time"

	"troupe/messages"
)

// jobOptions are the parts of a request that a started job needs. They are read-only; session
// and supervisor share them.
type jobOptions struct {
	open  *messages.SessionPlan // RunCommand.Open, used with shell
	shell string

	background   bool
	shown        bool
	named        bool // the request names a directory
	promoteAfter time.Duration
	grace        time.Duration
	onExit       messages.OnExit
}

func jobOptionsOf(r *messages.RunCommand) *jobOptions {
	return &jobOptions{
		open: r.Open, shell: r.Shell, background: r.Mode.Background(), shown: r.Shown, named: r.Dir != "",
		promoteAfter: r.PromoteAfter, grace: r.Grace, onExit: r.OnExit,
	}
}

// plan returns the plan by which a run opens its session. A live shell is that of the run if
// the plan names none.
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
