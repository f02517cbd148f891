package messages

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Check returns what is wrong with a request, or nil. A refused request leaves no
// record. The executor checks the directory and the shell later.
func (r RunCommand) Check() *Error {
	for _, check := range []func() *Error{r.checkCommand, r.checkNames, r.checkEnv, r.checkTimes, r.checkModes, r.ProcAttr.check, r.checkDetach, r.checkNotices, r.checkOpen, r.StartWaits.check} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (r RunCommand) checkCommand() *Error {
	if r.RerunOf != "" {
		return r.checkRerun()
	}
	switch {
	case r.Text != "" && len(r.Argv) > 0:
		return Invalid("command", "the request has a shell text and an argument list; give one of them")
	case len(r.Argv) > 0 && r.Argv[0] == "":
		return Invalid("empty_command", "the program's name is empty; give a name or a path")
	case len(r.Argv) == 0 && strings.TrimSpace(r.Text) == "":
		return Invalid("empty_command", "the command is empty; give a shell text or a program and its arguments")
	case len(r.Text) > MaxText:
		return &Error{
			Code: TooLarge, Reason: "command",
			Message: fmt.Sprintf("the command has %d bytes; at most %d are allowed", len(r.Text), MaxText),
			Hint:    "put it in a file and run that, as bash FILE",
		}
	case strings.ContainsRune(r.Text, 0):
		return Invalid("command", "the command contains a NUL byte, which no shell can take")
	}
	for i, a := range r.Argv {
		if strings.ContainsRune(a, 0) {
			return Invalid("command", fmt.Sprintf("argument %d contains a NUL byte, which no program can take", i))
		}
	}
	return nil
}

func (r RunCommand) checkNames() *Error {
	if r.Scope != "" {
		if err := r.Scope.Check(); err != nil {
			return err
		}
	}
	if r.Session != "" {
		if err := r.Session.Check(); err != nil {
			return err
		}
	}
	if r.UID != "" && !r.UID.valid() {
		return Invalid("uid", fmt.Sprintf("invalid uid %q: use a ULID, or leave it out", string(r.UID)))
	}
	if r.Name != "" && !validName(r.Name) {
		return Invalid("name", fmt.Sprintf("invalid job name %q: use up to %d letters, digits, '.', '_' and '-' (not at the beginning)", r.Name, MaxNameLength))
	}
	if r.Replace && r.Name == "" && r.RerunOf == "" {
		return Invalid("replace", "replace has no name; give the name of the job to be replaced")
	}
	if strings.ContainsRune(r.Shell, 0) {
		return Invalid("shell", "the name of the shell contains a NUL byte")
	}
	if strings.ContainsRune(r.Dir, 0) {
		return Invalid("cwd", "the working directory contains a NUL byte")
	}
	if r.Dir != "" && !strings.HasPrefix(r.Dir, "/") {
		return Invalid("cwd", fmt.Sprintf("the working directory %q is relative; give an absolute path", r.Dir))
	}
	return nil
}

func (r RunCommand) checkEnv() *Error {
	if len(r.Env.Set)+len(r.Env.Base) > MaxEnv {
		return &Error{
			Code: TooLarge, Reason: "too_many",
			Message: fmt.Sprintf("the environment has %d variables; at most %d are allowed", len(r.Env.Set)+len(r.Env.Base), MaxEnv),
		}
	}
	if len(r.Env.Base) > 0 && r.Env.Policy != EnvCaller && (r.RerunOf == "" || r.Env.Policy != "") {
		return Invalid("base_env", "the base of an environment is only for the policy caller; use set")
	}
	for _, kv := range r.Env.Set {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return &Error{
				Code: EnvRefused, Reason: "env", Message: fmt.Sprintf("invalid variable %.64q: the = is missing", name),
				Hint: "use NAME=value, or NAME= for an empty one",
			}
		}
		if !ValidEnvName(name) {
			return &Error{
				Code: EnvRefused, Reason: "env",
				Message: fmt.Sprintf("invalid environment variable name %q", name),
				Hint:    "use NAME=value with letters, digits and '_', not beginning with a digit",
			}
		}
		if strings.ContainsRune(value, 0) {
			return &Error{Code: EnvRefused, Reason: "env", Message: fmt.Sprintf("the value of %s contains a NUL byte", name)}
		}
	}
	return nil
}

// ValidEnvName reports whether a shell can read name as a variable: letters, digits
// and '_', not beginning with a digit.
func ValidEnvName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func (r RunCommand) checkTimes() *Error {
	for _, t := range []struct {
		name string
		d    time.Duration
	}{{"timeout", r.Timeout}, {"idle_timeout", r.IdleTimeout}, {"promote_after", r.PromoteAfter}, {"grace", r.Grace}} {
		if t.d < 0 && t.name != "grace" || t.d > MaxDuration {
			return Invalid(t.name, fmt.Sprintf("%s is %s; it must be positive and at most ten years", t.name, t.d))
		}
	}
	return nil
}

func (r RunCommand) checkModes() *Error {
	ok := func(v string, allowed ...string) bool {
		return v == "" || slices.Contains(allowed, v)
	}
	t := r.Terminal
	switch {
	case !ok(string(r.Mode), string(ModeSync), string(ModeAsync), string(ModeDetached)):
		return Invalid("mode", fmt.Sprintf("invalid mode %q: use sync, async or detached", r.Mode))
	case !ok(string(r.Streams), string(MergedStreams), string(SeparateStreams)):
		return Invalid("streams", fmt.Sprintf("invalid stream mode %q: use merged or separate", r.Streams))
	case t != (Terminal{}) && r.Streams == SeparateStreams:
		return Invalid("streams", "a terminal has one output, so its streams are merged; leave them so, or run it without a terminal")
	case !ok(r.Durability, "memory", "os-crash", "fsync-on-exit"):
		return Invalid("durability", fmt.Sprintf("invalid durability %q: use memory, os-crash or fsync-on-exit", r.Durability))
	case !ok(string(r.Stdin), string(StdinNull), string(StdinPipe), string(StdinHost)):
		return Invalid("stdin", fmt.Sprintf("invalid stdin mode %q: use null or pipe", r.Stdin))
	case !ok(string(r.OnExit), string(AdoptChildren), string(KeepChildren), string(KillChildren)):
		return Invalid("on_exit", fmt.Sprintf("invalid on_exit %q: use adopt, keep or kill", r.OnExit))
	case !ok(string(r.Env.Policy), string(EnvCaller), string(EnvAllow), string(EnvAgent), string(EnvClean)):
		return Invalid("env_policy", fmt.Sprintf("invalid environment policy %q: use caller, allow, agent or clean", r.Env.Policy))
	case !ok(r.Quota.Policy, "elide", "keep_head", "pause", "kill"):
		return Invalid("max_output", fmt.Sprintf("invalid output policy %q: use elide, keep_head, pause or kill", r.Quota.Policy))
	case r.Umask != "" && r.Mask() < 0:
		return Invalid("umask", fmt.Sprintf("invalid umask %q: use octal digits, such as 0022", r.Umask))
	case r.Quota.Bytes < 0:
		return Invalid("max_output", "the output quota is negative; give a number of bytes")
	case t != (Terminal{}) && t.Check() != nil:
		return t.Check()
	case !utf8.ValidString(r.Description):
		return Invalid("description", "the description is not UTF-8 text")
	}
	return nil
}

// checkDetach returns which other part of a request excludes Detach, or nil.
func (r RunCommand) checkDetach() *Error {
	switch {
	case r.Mode != ModeDetached && r.LogFile != "":
		return Invalid("log", "only a detached job has a log file of its own; detach it, or leave the file out")
	case r.Mode != ModeDetached:
		return nil
	case len(r.OnFinish) > 0:
		return Invalid("on_finish", "a detached job may end while no daemon runs, which delivers notices; leave out detach or on_finish")
	case r.Streams == SeparateStreams:
		return Invalid("streams", "a detached job has one log, so its streams are merged; leave them so")
	case r.LogFile != "" && (r.LogFile[0] != '/' || strings.ContainsRune(r.LogFile, 0) || !utf8.ValidString(r.LogFile)):
		return Invalid("log", fmt.Sprintf("invalid log file %q: give an absolute path", r.LogFile))
	}
	return nil
}
