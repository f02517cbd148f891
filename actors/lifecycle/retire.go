package lifecycle

import "troupe/messages"

// A job ends in three steps: its command reports the last fact, the journal records it, and
// the engine forgets the job.

// retire reports the last fact of a job whose process tree and output have ended. It settles
// a job that is retired already.
func (c Command) retire(todo []Effect) (Command, []Effect) {
	switch {
	case !c.closed || !c.ended:
		return c, todo
	case c.Job.State == messages.Retired:
		return c.settle(todo)
	case c.Job.State != messages.Finished:
		return c, todo
	}
	c.kept = false
	for i, effect := range todo {
		if tell, is := effect.(Tell); is { // the end, not sent yet: one report for both
			tell.Job.State, tell.Last = messages.Retired, true
			c.Job, todo[i] = tell.Job, tell
			return c, todo
		}
	}
	c.edit().State = messages.Retired
	return c, append(todo, c.tell(messages.CommandRetired{}))
}

// settle lets the engine forget the recorded facts. It retires the actor when output and
// tree have ended, so that a rebuilt machine settles the replayed end, too. Facts that are
// not recorded stay with the engine for the next node.
func (c Command) settle(todo []Effect) (Command, []Effect) {
	switch {
	case !c.kept:
		return c, todo
	case c.Job.State == messages.Finished:
		if !c.unsaved {
			todo = append(todo, Settle{c.result})
		}
		return c, todo
	case !c.closed || !c.ended:
		return c, todo
	}
	c.kept = false
	if c.unsaved {
		return c, append(todo, Keep{c.seq}, Retire{})
	}
	return c, append(todo, Settle{c.seq}, Retire{})
}

// recorded takes a confirmation of the journal. A retired job waits for that of its last
// fact: from then on the supervisor answers for the job, so that no request is lost.
func (c Command) recorded(e Recorded) (Command, []Effect) {
	if !c.Job.State.Ended() || c.Job.State == messages.Retired && !e.Retired {
		return c, nil
	}
	c.kept, c.unsaved = true, e.Unwritten
	c, todo := c.answerStoppers(nil)
	return c.settle(todo)
}
