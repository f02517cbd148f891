package out

import "troupe/messages"

// WhyLost explains why a part of an output is missing, as far as the record shows. A limit
// keeps the beginning, so a gap at byte 0 has another cause.
func WhyLost(job messages.Record) string {
	outside := job.HasFlag(messages.FlagLogTampered) || job.HasFlag(messages.FlagLogUnlinked)
	whole := job.State.Ended() // no gaps when the job ended
	for _, out := range job.Output {
		outside = outside || len(out.Elided) > 0 && out.Elided[0].From == 0
		whole = whole && len(out.Elided) == 0
	}
	switch {
	case job.HasFlag(messages.FlagOutputLost):
		return ": they were lost with the keeper"
	case outside:
		return ": the log file was changed or removed"
	case whole:
		return ": they were lost after the end of the job: removed to make room, or with the memory of the keeper or the log file"
	}
	return ": the output reached its limit"
}
