package actors

import (
	"errors"

	"troupe/messages"
	"troupe/spill"
)

// OpenArchived opens a log of a job that is over. A log that the store has evicted becomes a
// gap of the size in the record.
func OpenArchived(logs Logs, job messages.Record, stream messages.Stream) (spill.Log, error) {
	log, err := logs.Open(string(job.UID), uint8(stream))
	if err == nil {
		state := log.State() // a remote log is only read now
		switch failed := spill.ErrOf(log); {
		case failed != nil && IsEvicted(failed):
			_ = log.Close()
			err = failed
		case failed != nil:
			_ = log.Close()
			return nil, failed
		case state.Size > 0 || job.Started.IsZero() || bytesOf(job, stream) == 0:
			return log, nil
		default: // the log exists and is empty
			_ = log.Close()
			err = spill.ErrNotFound
		}
	}
	if !IsEvicted(err) {
		return nil, err
	}
	if job.Started.IsZero() {
		if job.State.Ended() && job.End.Outcome != messages.Lost { // it never started
			return unwritten(stream)
		}
		return nil, err
	}
	if lost := OutputLostError(job, stream); lost != nil {
		return nil, lost
	}
	return spill.MissingLog(bytesOf(job, stream)), nil
}

// unwritten opens the log of a stream without output.
func unwritten(messages.Stream) (spill.Log, error) { return spill.MissingLog(0), nil }

// OutputLostError returns the error of an output of unknown size: its log was lost with the
// process that held the job. It returns nil for all others.
func OutputLostError(job messages.Record, stream messages.Stream) error {
	if job.End.Outcome != messages.Lost && !job.HasFlag(messages.FlagOutputLost) || bytesOf(job, stream) > 0 {
		return nil
	}
	return &messages.Error{
		Code: messages.OutputUnavailable, Reason: "lost", Message: "job " + string(job.ID) + ": its output was lost with its process", Hint: "run it again; a detached job logs to a file from the start",
	}
}

// IsEvicted reports whether an error says that the store has no such log.
func IsEvicted(err error) bool {
	return errors.Is(err, spill.ErrNotFound) || errors.Is(err, &messages.Error{Code: messages.OutputUnavailable, Reason: spill.EvictedReason})
}

func bytesOf(job messages.Record, stream messages.Stream) int64 {
	for _, o := range job.Output {
		if o.Stream == stream {
			return o.Bytes
		}
	}
	return 0
}
