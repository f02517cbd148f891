package lifecycle

import (
	"slices"

	"troupe/messages"
)

// Wait is the state of one blocking wait. It ends once: when any or all of its jobs meet the
// condition, when they no longer can, or after its timeout.
type Wait struct {
	Ask messages.WaitJobs

	jobs     []messages.Record
	met      []messages.JobID
	hopeless []messages.JobID
	done     bool
}

// Events of a wait.
type (
	// Changed is the new record of a job.
	Changed struct{ Job messages.Record }
	// Met says that a job met the condition.
	Met struct{ Job messages.JobID }
	// InputWaiting says that a job waits for input after it has read all that it was sent.
	// Secret says that the input is a secret.
	InputWaiting struct {
		Job    messages.JobID
		Secret bool
	}
	// Impossible says that a job can no longer meet the condition: it has ended, or its output
	// is closed.
	Impossible struct{ Job messages.JobID }
	// TimeUp says that the timeout of the wait has elapsed.
	TimeUp struct{}
)

// NewWait returns a wait for jobs with the given records.
func NewWait(ask messages.WaitJobs, jobs []messages.Record) Wait {
	return Wait{Ask: ask, jobs: slices.Clone(jobs)}
}

// Begin checks the records of the jobs. The wait may end at once.
func (w Wait) Begin() (Wait, *messages.WaitEnded) {
	for _, j := range w.jobs {
		w = w.look(j)
	}
	return w.judge()
}

// Step returns the next state and, once, the end of the wait.
func (w Wait) Step(event any) (Wait, *messages.WaitEnded) {
	if w.done {
		return w, nil
	}
	switch e := event.(type) {
	case Changed:
		w.jobs = slices.Clone(w.jobs)
		for i := range w.jobs {
			if w.jobs[i].ID == e.Job.ID {
				w.jobs[i] = e.Job
			}
		}
		w = w.look(e.Job)
	case InputWaiting:
		w = w.waitsForInput(e)
	case Met:
		w.met = add(w.met, e.Job)
	case Impossible:
		w.hopeless = add(w.hopeless, e.Job)
	case TimeUp:
		return w.end(messages.WaitEnded{TimedOut: true})
	}
	return w.judge()
}

// waitsForInput meets a wait for input if the record says the same. A record that is older
// changes soon, and then the job is checked again.
func (w Wait) waitsForInput(e InputWaiting) Wait {
	for i, j := range w.jobs {
		if j.ID == e.Job && j.WaitingForInput {
			w.jobs = slices.Clone(w.jobs)
			w.jobs[i].WaitingForSecret = e.Secret
			w.met = add(w.met, j.ID)
		}
	}
	return w
}

// look checks the record of a job against the condition.
func (w Wait) look(j messages.Record) Wait {
	switch w.Ask.Condition.Kind {
	case messages.UntilExit, "":
		if j.State.Ended() {
			w.met = add(w.met, j.ID)
		}
	case messages.UntilBlocked:
		if j.HasFlag(messages.FlagLogBlocked) {
			w.met = add(w.met, j.ID)
		} else if j.State.Ended() {
			w.hopeless = add(w.hopeless, j.ID)
		}
	case messages.UntilInput, messages.UntilPort: // met by a probe of the job
		if j.State.Ended() {
			w.hopeless = add(w.hopeless, j.ID)
		}
	case messages.UntilPattern, messages.UntilQuiet:
		// the probe of the output sends Met or Impossible
	}
	return w
}

func (w Wait) judge() (Wait, *messages.WaitEnded) {
	hopeless := 0
	for _, j := range w.hopeless {
		if !slices.Contains(w.met, j) {
			hopeless++
		}
	}
	switch {
	case w.done:
		return w, nil
	case w.Ask.Any && len(w.met) > 0, len(w.met) == len(w.jobs):
		return w.end(messages.WaitEnded{Satisfied: true})
	case !w.Ask.Any && hopeless > 0, hopeless == len(w.jobs):
		return w.end(messages.WaitEnded{Impossible: true})
	}
	return w, nil
}

func (w Wait) end(e messages.WaitEnded) (Wait, *messages.WaitEnded) {
	w.done = true
	e.Met, e.Jobs = w.met, w.jobs
	return w, &e
}

func add(list []messages.JobID, j messages.JobID) []messages.JobID {
	if slices.Contains(list, j) {
		return list
	}
	return append(slices.Clip(list), j)
}
