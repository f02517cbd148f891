package lifecycle

import "troupe/messages"

// How a command is let go when its job is over: it tells its last word, the journal takes
// it, and the engine may forget.

// retire tells the last word about a job when nothing of it is left. Once that
// is told, what the journal holds can be settled.
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
		if tell, is := effect.(Tell); is { // it is the end, which nobody has heard yet
			tell.Job.State, tell.Last = messages.Retired, true
			c.Job, todo[i] = tell.Job, tell
			return c, todo
		}
	}
	c.edit().State = messages.Retired
	return c, append(todo, c.tell(messages.CommandRetired{}))
}

// settle lets the engine forget what the journal holds, and the actor go when
// all is said and heard: not before a rebuilt machine has heard the end again,
// since what it does not settle is kept for ever. What the journal does not have the
// engine keeps for the next node.
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

// recorded lets the engine forget, and the actor go when all is said: not
// before the node answers for the job itself, which it does from its last word
// on, since who asks in between would meet nobody.
func (c Command) recorded(e Recorded) (Command, []Effect) {
	if !c.Job.State.Ended() || c.Job.State == messages.Retired && !e.Retired {
		return c, nil
	}
	c.kept, c.unsaved = true, e.Unwritten
	return c.settle(nil)
}
