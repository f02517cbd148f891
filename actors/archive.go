package actors

import (
	"errors"

	"troupe/messages"
	"troupe/spill"
)

// OpenArchived opens a log of a job that is over. One that the store has let go to
// make room is told as what it was: a gap, as long as the record says.
func OpenArchived(logs Logs, job messages.Job, stream messages.Stream) (spill.Log, error) {
	log, err := logs.Open(string(job.UID), uint8(stream))
	if err == nil {
		state := log.State() // one that lives elsewhere is only now asked for
		switch told := spill.ErrOf(log); {
		case told != nil && IsEvicted(told):
			_ = log.Close()
			err = told
		case told != nil:
			_ = log.Close()
			return nil, told
		case state.Size > 0 || job.Started.IsZero() || bytesOf(job, stream) == 0:
			return log, nil
		default: // there is something of that name, and nothing in it
			_ = log.Close()
			err = spill.ErrNotFound
		}
	}
	if !IsEvicted(err) {
		return nil, err
	}
	if job.Started.IsZero() {
		if job.State.Ended() && job.Outcome != messages.Lost { // it never began
			return unwritten(stream)
		}
		return nil, err
	}
	if lost := OutputLostError(job, stream); lost != nil {
		return nil, lost
	}
	return spill.MissingLog(bytesOf(job, stream)), nil
}

// unwritten opens the log of a stream that nobody has written to.
func unwritten(messages.Stream) (spill.Log, error) { return spill.MissingLog(0), nil }

// OutputLostError is the error of an output whose size is not known, since its log went
// with who held the job: it is not one that is empty. Else it is nil.
func OutputLostError(job messages.Job, stream messages.Stream) error {
	if job.Outcome != messages.Lost || bytesOf(job, stream) > 0 {
		return nil
	}
	return &messages.Error{
		Code: messages.OutputUnavailable, Reason: "lost", Message: "job " + string(job.ID) + ": its output was lost with its process", Hint: "run it again; a detached job logs to a file from the start",
	}
}

// IsEvicted says that the store has no such log (any more).
func IsEvicted(err error) bool {
	return errors.Is(err, spill.ErrNotFound) || errors.Is(err, &messages.Error{Code: messages.OutputUnavailable, Reason: spill.EvictedReason})
}

func bytesOf(job messages.Job, stream messages.Stream) int64 {
	for _, o := range job.Output {
		if o.Stream == stream {
			return o.Bytes
		}
	}
	return 0
}
