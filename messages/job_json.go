package messages

import "slices"

// JSONVersion is the field "v" of every object. It changes when a field changes its
// meaning, not when a field is added.
const JSONVersion = 1

// jobObjectSize is the usual size of a job's object without its texts, in bytes.
const jobObjectSize = 1 << 10

// MarshalJSON returns the job object of docs/cli.md. Absent values are null; lists are
// never null, except argv of a job without one. Times are RFC 3339 in UTC with
// nanoseconds; a time outside of its range is an error. The calling encoder decides
// whether & and < are escaped.
//
// A daemon writes it for each command. It is written field by field, because reflection
// took 20 µs.
func (j Job) MarshalJSON() ([]byte, error) {
	o := newJSONWriter(jobObjectSize + 2*len(j.Command))
	j.identity(o)
	j.standing(o)
	j.left(o)
	j.process(o)
	j.streams(o)
	if len(j.OnFinish) > 0 {
		j.notices(o)
	}
	whole(o, "seq", j.Seq)
	return o.done()
}

// identity writes what the request said of the job.
func (j *Job) identity(o *jsonWriter) {
	whole(o, "v", JSONVersion)
	text(o, "id", j.ID)
	text(o, "uid", j.UID)
	text(o, "scope", j.Scope)
	text(o, "session", j.Session)
	textOrNull(o, "name", j.Name)
	textIfAny(o, "tag", j.Tag)
	text(o, "command", j.Command)
	if j.Argv == nil {
		o.null("argv")
	} else {
		texts(o, "argv", j.Argv)
	}
	text(o, "description", j.Description)
	text(o, "mode", j.Mode)
	text(o, "backend", j.Backend)
}

// standing writes the job's state and how it ended.
func (j *Job) standing(o *jsonWriter) {
	text(o, "state", j.State.shown())
	o.truth("background", j.Background)
	textOrNull(o, "outcome", j.Outcome)
	if j.Settled && j.Status.Signal == "" {
		whole(o, "exit_code", j.Status.Code)
	} else {
		o.null("exit_code")
	}
	if j.Settled {
		textOrNull(o, "signal", j.Status.Signal)
	} else {
		o.null("signal")
	}
	if j.Cause == (Cause{}) {
		o.null("cause")
	} else {
		o.open("cause", '{')
		text(o, "by", j.Cause.By)
		textIfAny(o, "reason", j.Cause.Reason)
		textIfAny(o, "signal", j.Cause.Signal)
		o.close('}')
	}
	j.Err.field(o)
	if j.OOM == Unknown {
		o.null("oom")
	} else {
		o.truth("oom", j.OOM == Yes)
	}
}

// left writes what remains of the job, and what was left out.
func (j *Job) left(o *jsonWriter) {
	o.truth("output_open", j.OutputOpen)
	whole(o, "background_children", j.Children)
	o.open("survivors", '[')
	for _, s := range j.Survivors {
		o.open("", '{')
		whole(o, "pid", s.PID)
		text(o, "state", s.State)
		textIfAny(o, "wchan", s.Wchan)
		textIfAny(o, "why", s.Why)
		o.close('}')
	}
	o.close(']')
	texts(o, "flags", j.Flags)
	texts(o, "env_dropped", j.EnvDropped)
}

// process writes the limits, times, place and costs of the job's process.
func (j *Job) process(o *jsonWriter) {
	if j.Timeout > 0 {
		whole(o, "timeout_ms", j.Timeout.Milliseconds())
	} else {
		o.null("timeout_ms")
	}
	if !j.Deadline.IsZero() {
		o.moment("deadline", j.Deadline)
	}
	if j.PID != 0 {
		whole(o, "pid", j.PID)
	} else {
		o.null("pid")
	}
	textIfAny(o, "isolation", j.Isolation)
	text(o, "cwd", j.Dir)
	o.moment("created_at", j.Created)
	o.moment("started_at", j.Started)
	o.moment("finished_at", j.Ended)
	if !j.Started.IsZero() && !j.Ended.IsZero() {
		whole(o, "duration_ms", j.Duration().Milliseconds())
	} else {
		o.null("duration_ms")
	}
	if j.Settled && j.Rusage != (Rusage{}) {
		o.open("rusage", '{')
		whole(o, "user_ms", j.Rusage.User.Milliseconds())
		whole(o, "sys_ms", j.Rusage.System.Milliseconds())
		whole(o, "max_rss_kib", j.Rusage.MaxRSS)
		o.close('}')
	} else {
		o.null("rusage")
	}
	o.truth("waiting_for_input", j.WaitingForInput)
	o.truth("waiting_for_secret", j.WaitingForSecret)
	if j.Terminal == (Terminal{}) {
		o.null("terminal")
	} else {
		o.open("terminal", '{')
		whole(o, "rows", j.Terminal.Rows)
		whole(o, "cols", j.Terminal.Cols)
		o.close('}')
	}
}

// byName holds the streams in the order of their names, which JSON objects have.
var byName = [...]Stream{Merged, Stderr, Stdout}

// streams writes the outputs. If j.Output has several entries for a stream, the last wins.
func (j *Job) streams(o *jsonWriter) {
	o.open("output", '{')
	for _, stream := range byName {
		for _, s := range slices.Backward(j.Output) {
			if s.Stream == stream {
				s.field(o, s.Bytes == 0 && j.HasFlag(FlagOutputLost))
				break
			}
		}
	}
	o.close('}')
}

// field writes the stream as a field of o. The size of one that is lost is unknown.
func (s *StreamOutput) field(o *jsonWriter, lost bool) {
	o.open(s.Stream.String(), '{')
	if lost {
		o.null("bytes")
	} else {
		whole(o, "bytes", s.Bytes)
	}
	if s.Counted {
		whole(o, "lines", s.Lines)
	} else {
		o.null("lines")
	}
	o.truth("lines_exact", s.LinesExact)
	textOrNull(o, "file", s.File)
	o.open("elided", '[')
	for _, gap := range s.Elided {
		o.open("", '{')
		whole(o, "from", gap.From)
		whole(o, "to", gap.To)
		o.close('}')
	}
	o.close(']')
	o.close('}')
}

// notices writes the notices of the job's end.
func (j *Job) notices(o *jsonWriter) {
	o.open("on_finish", '[')
	for _, n := range j.OnFinish {
		o.open("", '{')
		text(o, "to", n.To)
		text(o, "state", n.State)
		whole(o, "seq", n.Seq)
		whole(o, "tries", n.Tries)
		n.Err.field(o)
		o.close('}')
	}
	o.close(']')
}

// field writes the error as a field of o, or null for the zero value.
func (e *Error) field(o *jsonWriter) {
	if *e == (Error{}) {
		o.null("error")
		return
	}
	o.open("error", '{')
	text(o, "code", e.Code)
	textIfAny(o, "reason", e.Reason)
	text(o, "message", e.Message)
	textIfAny(o, "hint", e.Hint)
	o.close('}')
}

// shown returns the state that users see. It maps Retired to Finished.
func (s State) shown() State {
	if s == Retired {
		return Finished
	}
	return s
}
