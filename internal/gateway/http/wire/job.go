package wire

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"troupe/messages"
)

// Job is the job object, decoded into the record. The object omits the principal and
// the start time of the process. The exit status for a shell is computed.
type Job struct{ messages.Job }

// Jobs returns the objects of records.
func Jobs(jobs []messages.Job) []Job {
	out := make([]Job, len(jobs))
	for i, j := range jobs {
		out[i] = Job{j}
	}
	return out
}

// Records returns the records of objects.
func Records(jobs []Job) []messages.Job {
	out := make([]messages.Job, len(jobs))
	for i, j := range jobs {
		out[i] = j.Job
	}
	return out
}

// UnmarshalJSON implements json.Unmarshaler. It ignores unknown fields, which a newer
// server may send.
func (j *Job) UnmarshalJSON(b []byte) error {
	var o jobObject
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	j.Job = o.job()
	return nil
}

// job returns the record that the object describes.
func (o jobObject) job() messages.Job {
	j := messages.Job{
		ID: o.ID, UID: o.UID, Scope: o.Scope, Session: o.Session, Name: o.Name, Tag: o.Tag,
		Command: o.Command, Argv: o.Argv, Description: o.Description, Mode: o.Mode, Backend: o.Backend,
		State: o.State, Background: o.Background, Outcome: o.Outcome, Cause: o.Cause, Err: o.Error,
		OutputOpen: o.OutputOpen, Children: o.Children, Survivors: o.Survivors, Flags: o.Flags, EnvDropped: o.EnvDropped,
		Timeout: time.Duration(o.TimeoutMS) * time.Millisecond, Deadline: o.Deadline, PID: o.PID, Isolation: o.Isolation,
		Dir: o.Dir, Created: o.Created, Started: o.Started, Ended: o.Ended, WaitingForInput: o.Waiting, WaitingForSecret: o.Secret, Terminal: o.Terminal, Seq: o.Seq,
	}
	if o.OOM != nil {
		j.OOM = messages.No
		if *o.OOM {
			j.OOM = messages.Yes
		}
	}
	if o.Rusage != nil {
		j.Rusage = messages.Rusage{
			User: time.Duration(o.Rusage.UserMS) * time.Millisecond, System: time.Duration(o.Rusage.SysMS) * time.Millisecond, MaxRSS: o.Rusage.MaxRSS,
		}
	}
	for _, n := range o.OnFinish {
		j.OnFinish = append(j.OnFinish, messages.Notice{To: n.To, State: n.State, Seq: n.Seq, Tries: n.Tries, Err: n.Error})
	}
	o.status(&j)
	for _, stream := range []messages.Stream{messages.Merged, messages.Stdout, messages.Stderr} {
		s, ok := o.Output[stream.String()]
		if !ok {
			continue
		}
		out := messages.StreamOutput{Stream: stream, Bytes: s.Bytes, LinesExact: s.LinesExact, File: s.File, Elided: s.Elided}
		if s.Lines != nil {
			out.Lines, out.Counted = *s.Lines, true
		}
		j.Output = append(j.Output, out)
	}
	return j
}

// Exit statuses of a shell for commands that did not start, and of troupe for a lost
// job.
const (
	shellNotFound      = 127
	shellNotExecutable = 126
	shellLost          = 125
)

// status sets how the job ended and the exit status for a shell.
func (o jobObject) status(j *messages.Job) {
	switch {
	case o.ExitCode != nil:
		j.Settled, j.Status = true, messages.ExitStatus{Code: *o.ExitCode}
		j.Shell = j.Status.Shell()
	case o.Signal != nil:
		j.Settled, j.Status = true, messages.ExitStatus{Signal: *o.Signal, Number: signalNumber(*o.Signal)}
		j.Shell = j.Status.Shell()
	case o.Outcome == messages.Lost:
		j.Shell = shellLost
	case o.Outcome == messages.FailedToStart && o.Error.Code == messages.SpawnFailed && o.Error.Reason == "ENOENT":
		j.Shell = shellNotFound
	case o.Outcome == messages.FailedToStart:
		j.Shell = shellNotExecutable
	}
}

// signalNumber returns the number of a signal such as "KILL", or of one named by its
// number.
func signalNumber(name string) int {
	if n, err := strconv.Atoi(name); err == nil {
		return n
	}
	return int(unix.SignalNum("SIG" + name))
}
