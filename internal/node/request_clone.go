package node

import (
	"bytes"
	"slices"

	"troupe/messages"
)

// cloneRequest copies the slices of a request. The tree may still use them after the answer
// or the end of ctx, when the caller reuses its own.
func cloneRequest(request messages.Refusable) messages.Refusable {
	switch r := request.(type) {
	case messages.RunCommand:
		return cloneRun(r)
	case messages.WriteInput:
		r.Data = bytes.Clone(r.Data)
		return r
	case messages.WaitJobs:
		r.Jobs = slices.Clone(r.Jobs)
		return r
	case messages.OpenSession:
		r.SessionPlan = clonePlan(r.SessionPlan)
		return r
	case messages.ListJobs:
		r.States = slices.Clone(r.States)
		return r
	}
	return request
}

func cloneRun(r messages.RunCommand) messages.RunCommand {
	r.Argv, r.Env.Set, r.Env.Base, r.OnFinish = slices.Clone(r.Argv), slices.Clone(r.Env.Set), slices.Clone(r.Env.Base), slices.Clone(r.OnFinish)
	r.Limits.Rlimits = slices.Clone(r.Limits.Rlimits)
	if r.Open != nil {
		plan := clonePlan(*r.Open)
		r.Open = &plan
	}
	return r
}

func clonePlan(p messages.SessionPlan) messages.SessionPlan {
	p.Env.Set, p.Env.Base, p.Limits.Rlimits = slices.Clone(p.Env.Set), slices.Clone(p.Env.Base), slices.Clone(p.Limits.Rlimits)
	return p
}
