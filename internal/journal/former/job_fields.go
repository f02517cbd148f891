package former

import "troupe/messages"

func jobFields(f *fields, j *messages.Record) {
	text(f, 1, &j.ID)
	text(f, 2, &j.UID)
	text(f, 3, &j.Scope)
	text(f, 4, &j.Session)
	text(f, 5, &j.Principal)
	text(f, 6, &j.Tag)
	text(f, 7, &j.Name)
	text(f, 8, &j.Command)
	texts(f, 9, &j.Argv)
	text(f, 10, &j.Description)
	text(f, 11, &j.Mode)
	text(f, 12, &j.Backend)
	text(f, 13, &j.State)
	flag(f, 14, &j.Background)
	text(f, 15, &j.End.Outcome)
	var status messages.ExitStatus
	known := false
	nested(f, 16, &status, statusFields)
	if flag(f, 17, &known); known {
		j.End.SetStatus(status)
	}
	nested(f, 19, &j.End.Cause, causeFields)
	nested(f, 20, &j.End.Err, errorFields)
	integer(f, 21, &j.End.OOM)
	flag(f, 22, &j.OutputOpen)
	integer(f, 23, &j.End.Children)
	list(f, 24, &j.End.Survivors, survivorFields)
	texts(f, 25, &j.Flags)
	texts(f, 26, &j.EnvDropped)
	integer(f, 27, &j.Timeout)
	moment(f, 28, &j.Deadline)
	integer(f, 29, &j.PID)
	unsigned(f, 30, &j.StartTime)
	text(f, 31, &j.Isolation)
	text(f, 32, &j.Dir)
	moment(f, 33, &j.Created)
	moment(f, 34, &j.Started)
	moment(f, 35, &j.End.At)
	nested(f, 36, &j.End.Rusage, rusageFields)
	flag(f, 37, &j.WaitingForInput)
	list(f, 38, &j.Output, outputFields)
	unsigned(f, 39, &j.Seq)
	list(f, 40, &j.OnFinish, noticeFields)
	nested(f, 41, &j.Terminal, terminalFields)
	flag(f, 42, &j.WaitingForSecret)
}

func terminalFields(f *fields, t *messages.Terminal) {
	integer(f, 1, &t.Rows)
	integer(f, 2, &t.Cols)
}

func noticeFields(f *fields, n *messages.Notice) {
	text(f, 1, &n.To)
	text(f, 2, &n.State)
	unsigned(f, 3, &n.Seq)
	integer(f, 4, &n.Tries)
	nested(f, 5, &n.Err, errorFields)
}

func statusFields(f *fields, s *messages.ExitStatus) {
	integer(f, 1, &s.Code)
	text(f, 2, &s.Signal)
	integer(f, 3, &s.Number)
}

func causeFields(f *fields, c *messages.Cause) {
	text(f, 1, &c.By)
	text(f, 2, &c.Reason)
	text(f, 3, &c.Signal)
}

func errorFields(f *fields, e *messages.Error) {
	text(f, 1, &e.Code)
	text(f, 2, &e.Reason)
	text(f, 3, &e.Message)
	text(f, 4, &e.Hint)
}

func survivorFields(f *fields, s *messages.Survivor) {
	integer(f, 1, &s.PID)
	text(f, 2, &s.State)
	text(f, 3, &s.Wchan)
	text(f, 4, &s.Why)
}

func rusageFields(f *fields, r *messages.Rusage) {
	integer(f, 1, &r.User)
	integer(f, 2, &r.System)
	integer(f, 3, &r.MaxRSS)
}

func outputFields(f *fields, o *messages.StreamOutput) {
	unsigned(f, 1, &o.Stream)
	integer(f, 2, &o.Bytes)
	lines, counted := int64(0), false
	integer(f, 3, &lines)
	if flag(f, 4, &counted); counted {
		o.Lines = &lines
	}
	flag(f, 5, &o.LinesExact)
	text(f, 6, &o.File)
	list(f, 7, &o.Elided, gapFields)
}

func gapFields(f *fields, g *messages.OutputGap) {
	integer(f, 1, &g.From)
	integer(f, 2, &g.To)
}
