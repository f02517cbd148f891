package wire

import "github.com/go-faster/jx"

// runFields are in the order in which our client writes them.
var runFields = [...]field[Run]{
	{"uid", func(d *jx.Decoder, w *Run) error { return text(d, &w.UID) }},
	{"scope", func(d *jx.Decoder, w *Run) error { return text(d, &w.Scope) }},
	{"session", func(d *jx.Decoder, w *Run) error { return text(d, &w.Session) }},
	{"open", func(d *jx.Decoder, w *Run) error { return fieldSet(d, &w.Open, plan) }},
	{"name", func(d *jx.Decoder, w *Run) error { return text(d, &w.Name) }},
	{"replace", func(d *jx.Decoder, w *Run) error { return optionalBool(d, &w.Replace) }},
	{"description", func(d *jx.Decoder, w *Run) error { return text(d, &w.Description) }},
	{"tag", func(d *jx.Decoder, w *Run) error { return text(d, &w.Tag) }},
	{"command", func(d *jx.Decoder, w *Run) error { return fieldSet(d, &w.Command, text[string]) }},
	{"command_base64", func(d *jx.Decoder, w *Run) error { return fieldSet(d, &w.CommandBase64, text[string]) }},
	{"argv", func(d *jx.Decoder, w *Run) error { return list(d, &w.Argv, element) }},
	{"shell", func(d *jx.Decoder, w *Run) error { return text(d, &w.Shell) }},
	{"cwd", func(d *jx.Decoder, w *Run) error { return text(d, &w.Dir) }},
	{"env", func(d *jx.Decoder, w *Run) error { return words(d, &w.Env) }},
	{"env_unsafe", func(d *jx.Decoder, w *Run) error { return optionalBool(d, &w.EnvUnsafe) }},
	{"env_policy", func(d *jx.Decoder, w *Run) error { return text(d, &w.EnvPolicy) }},
	{"base_env", func(d *jx.Decoder, w *Run) error { return list(d, &w.BaseEnv, element) }},
	{"umask", func(d *jx.Decoder, w *Run) error { return text(d, &w.Umask) }},
	{"streams", func(d *jx.Decoder, w *Run) error { return text(d, &w.Streams) }},
	{"stdin", func(d *jx.Decoder, w *Run) error { return text(d, &w.Stdin) }},
	{"terminal", func(d *jx.Decoder, w *Run) error { return fieldSet(d, &w.Terminal, size) }},
	{"shown", func(d *jx.Decoder, w *Run) error { return optionalBool(d, &w.Shown) }},
	{"background", func(d *jx.Decoder, w *Run) error { return optionalBool(d, &w.Background) }},
	{"detach", func(d *jx.Decoder, w *Run) error { return optionalBool(d, &w.Detach) }},
	{"log_file", func(d *jx.Decoder, w *Run) error { return text(d, &w.LogFile) }},
	{"promote_after_ms", func(d *jx.Decoder, w *Run) error { return fieldSet(d, &w.PromoteAfter, whole[int64]) }},
	{"timeout_ms", func(d *jx.Decoder, w *Run) error { return fieldSet(d, &w.Timeout, whole[int64]) }},
	{"grace_ms", func(d *jx.Decoder, w *Run) error { return fieldSet(d, &w.Grace, whole[int64]) }},
	{"on_exit", func(d *jx.Decoder, w *Run) error { return text(d, &w.OnExit) }},
	{"on_finish", func(d *jx.Decoder, w *Run) error { return list(d, &w.OnFinish, element) }},
	{"max_output", func(d *jx.Decoder, w *Run) error { return fieldSet(d, &w.MaxOutput, quota) }},
	{"durability", func(d *jx.Decoder, w *Run) error { return text(d, &w.Durability) }},
	{"persist", func(d *jx.Decoder, w *Run) error { return optionalBool(d, &w.Persist) }},
}

func run(d *jx.Decoder, into *Run) error { return readStrictly(d, runFields[:], into) }

var planFields = [...]field[SessionPlan]{
	{"backend", func(d *jx.Decoder, p *SessionPlan) error { return text(d, &p.Backend) }},
	{"cwd", func(d *jx.Decoder, p *SessionPlan) error { return text(d, &p.Dir) }},
	{"env", func(d *jx.Decoder, p *SessionPlan) error { return words(d, &p.Env) }},
	{"env_policy", func(d *jx.Decoder, p *SessionPlan) error { return text(d, &p.EnvPolicy) }},
	{"base_env", func(d *jx.Decoder, p *SessionPlan) error { return list(d, &p.BaseEnv, element) }},
	{"umask", func(d *jx.Decoder, p *SessionPlan) error { return text(d, &p.Umask) }},
	{"shell", func(d *jx.Decoder, p *SessionPlan) error { return text(d, &p.Shell) }},
	{"terminal", func(d *jx.Decoder, p *SessionPlan) error { return fieldSet(d, &p.Terminal, size) }},
}

func plan(d *jx.Decoder, into *SessionPlan) error { return readStrictly(d, planFields[:], into) }

var sizeFields = [...]field[Size]{
	{"rows", func(d *jx.Decoder, s *Size) error { return whole(d, &s.Rows) }},
	{"cols", func(d *jx.Decoder, s *Size) error { return whole(d, &s.Cols) }},
}

func size(d *jx.Decoder, into *Size) error { return readStrictly(d, sizeFields[:], into) }

var quotaFields = [...]field[Quota]{
	{"bytes", func(d *jx.Decoder, q *Quota) error { return fieldSet(d, &q.Bytes, whole[int64]) }},
	{"policy", func(d *jx.Decoder, q *Quota) error { return text(d, &q.Policy) }},
}

func quota(d *jx.Decoder, into *Quota) error { return readStrictly(d, quotaFields[:], into) }

// words reads an object whose keys come from the caller.
func words(d *jx.Decoder, into *map[string]string) error {
	if null(d) {
		return d.Null()
	}
	*into = map[string]string{}
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		if _, twice := (*into)[string(key)]; twice {
			return errSurprise
		}
		var v string
		err := element(d, &v)
		(*into)[string(key)] = v
		return err
	})
}

// element reads a text of a list or a map. A null is a surprise there.
func element(d *jx.Decoder, into *string) error {
	if null(d) {
		return errSurprise
	}
	return text(d, into)
}
