package messages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RequestTerms are the parts of a request that its record keeps for a rerun beside its other
// fields. No value of a variable is among them. With the policy caller the umask and the limits
// are those of the caller, as the environment is, and are not kept either.
type RequestTerms struct {
	Shell     string        `json:"shell,omitzero" cbor:"1,keyasint,omitzero"`
	Placed    bool          `json:"-" cbor:"2,keyasint,omitzero"` // it named its directory, which is the Dir of the record
	EnvPolicy EnvPolicy     `json:"env_policy,omitzero" cbor:"3,keyasint,omitzero"`
	EnvNames  []string      `json:"env_names,omitzero" cbor:"4,keyasint,omitzero"` // of the variables that it set
	Umask     string        `json:"umask,omitzero" cbor:"5,keyasint,omitzero"`
	Stdin     StdinMode     `json:"stdin,omitzero" cbor:"6,keyasint,omitzero"`
	Timeout   time.Duration `json:"timeout_ms,omitzero" cbor:"7,keyasint,omitzero"` // the record has the last one, which may have been moved
	Grace     time.Duration `json:"-" cbor:"8,keyasint,omitzero"`
	OnExit    OnExit        `json:"on_exit,omitzero" cbor:"9,keyasint,omitzero"`
	Store     `cbor:"10,keyasint,omitzero"`
	Limits    Limits `json:"limits,omitzero" cbor:"11,keyasint,omitzero"`
	Partial   bool   `json:"-" cbor:"12,keyasint,omitzero"` // the record has only the begin of the command

	IdleTimeout time.Duration `json:"-" cbor:"13,keyasint,omitzero"` // in JSON both are fields of the record
	RerunOf     UID           `json:"-" cbor:"14,keyasint,omitzero"` // the job whose command it runs again; "": none

	StartWaits `cbor:"15,keyasint,omitzero"`
}

// Terms returns what the record of a request keeps for a rerun.
func (r RunCommand) Terms() *RequestTerms {
	t := &RequestTerms{
		Shell: r.Shell, Placed: r.Dir != "", EnvPolicy: r.Env.Policy, Umask: r.Umask, Stdin: r.Stdin,
		Timeout: r.Timeout, Grace: r.Grace, OnExit: r.OnExit, Store: r.Store, Limits: r.Limits, IdleTimeout: r.IdleTimeout, RerunOf: UID(r.RerunOf),
		StartWaits: r.StartWaits,
	}
	t.LogFile = "" // it must not exist
	if r.Env.Policy == EnvCaller {
		t.Umask, t.Limits = "", Limits{}
	}
	for _, kv := range r.Env.Set {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(t.EnvNames, name) {
			t.EnvNames = append(t.EnvNames, name)
		}
	}
	return t
}

// checkRerun returns what a request to run a job again must not name, or nil.
func (r RunCommand) checkRerun() *Error {
	switch {
	case r.Text != "" || len(r.Argv) > 0:
		return Invalid("rerun_of", "rerun_of runs the command of a job again; leave command and argv out")
	case r.Session != "" || r.Open != nil:
		return Invalid("rerun_of", "rerun_of runs a command in the session of its job; leave session and open out")
	}
	return nil
}

// Repeating returns the request that runs the command of a job again: the same program in the
// same scope, session and directory, with the same environment policy, streams and limits. Other
// fields of r replace those of the job. live says that the session of the job is a live shell,
// which has a directory and an environment of its own. A record of an older build has no terms:
// the defaults are used in their place.
func (r RunCommand) Repeating(job Record, live bool) (RunCommand, *Error) {
	t := cmp.Or(job.Request, &RequestTerms{EnvPolicy: r.olderPolicy(), Timeout: job.Timeout})
	if t.Partial || len(job.Argv) == 0 && job.Command == "" {
		return r, &Error{
			Code: Refused, Reason: "rerun_of", Message: fmt.Sprintf("the record of job %s does not have its whole command", job.ID),
			Hint: "run the command itself",
		}
	}
	r.RerunOf = JobID(job.UID)
	if r.Argv = job.Argv; len(r.Argv) == 0 {
		r.Text = job.Command
	}
	r.Name, r.Description = cmp.Or(r.Name, job.Name), cmp.Or(r.Description, job.Description)
	r.Scope, r.Session = cmp.Or(r.Scope, job.Scope), job.Session
	r.Timeout, r.Grace, r.OnExit = cmp.Or(r.Timeout, t.Timeout), cmp.Or(r.Grace, t.Grace), cmp.Or(r.OnExit, t.OnExit)
	r.IdleTimeout, r.StopSignal = cmp.Or(r.IdleTimeout, t.IdleTimeout), cmp.Or(r.StopSignal, job.StopSignal)
	r.Quota, r.Durability, r.Persist = cmp.Or(r.Quota, t.Quota), cmp.Or(r.Durability, t.Durability), r.Persist || t.Persist
	if len(r.OnFinish) == 0 {
		for _, n := range job.OnFinish {
			r.OnFinish = append(r.OnFinish, n.To)
		}
	}
	r.Stdin = cmp.Or(r.Stdin, t.Stdin)
	r.Queue, r.Priority = cmp.Or(r.Queue, t.Queue), cmp.Or(r.Priority, t.Priority)
	if len(r.Locks) == 0 {
		r.Locks = t.Locks
	}
	if r.Terminal == (Terminal{}) && !live {
		r.Terminal = job.Terminal
	}
	if r.Streams == "" && len(job.Output) > 1 && r.Terminal == (Terminal{}) {
		r.Streams = SeparateStreams
	}
	if live {
		r.Open = &SessionPlan{Backend: job.Backend}
		if r.Dir == "" && t.Placed {
			r.Dir = job.Dir
		}
		return r, nil
	}
	r.Shell, r.Dir, r.Umask = cmp.Or(r.Shell, t.Shell), cmp.Or(r.Dir, job.Dir), cmp.Or(r.Umask, t.Umask)
	if r.Limits.IsZero() {
		r.Limits = t.Limits
	}
	err := r.repeatEnv(job, t)
	return r, err
}

// olderPolicy returns the policy of a rerun of a job whose record has none: that of a request of
// its kind.
func (r RunCommand) olderPolicy() EnvPolicy {
	if r.Env.Base != nil {
		return EnvCaller
	}
	return ""
}

// repeatEnv sets the environment of a rerun. What the record does not have comes from the caller:
// all of it for the policy caller, and the values of the variables that the job was given.
func (r *RunCommand) repeatEnv(job Record, t *RequestTerms) *Error {
	base := r.Env.Base
	r.Env.Policy = cmp.Or(r.Env.Policy, t.EnvPolicy)
	switch {
	case r.Env.Policy != EnvCaller:
		r.Env.Base = nil
	case base == nil:
		return &Error{
			Code: EnvRefused, Reason: "environment", Message: fmt.Sprintf("job %s had the environment of its caller, which is not kept", job.ID),
			Hint: "give environment.base, or the environment.policy allow",
		}
	}
	var missing []string
	for _, name := range t.EnvNames {
		is := func(kv string) bool { return strings.HasPrefix(kv, name+"=") }
		if slices.ContainsFunc(r.Env.Set, is) {
			continue
		}
		if i := slices.IndexFunc(base, is); i < 0 {
			missing = append(missing, name)
		} else if r.Env.Base == nil {
			r.Env.Set = append(r.Env.Set, base[i])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &Error{
		Code: EnvRefused, Reason: "env", Message: fmt.Sprintf("job %s was given %s, and values of variables are not kept", job.ID, strings.Join(missing, ", ")),
		Hint: "give them again, as with --env " + missing[0] + "=VALUE",
	}
}
