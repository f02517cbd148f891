package supervision_test

import (
	"errors"
	"testing"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// Whoever was told that a job has ended is not told by the next node that it runs: a node
// takes no requests before it has heard the ends that its engine has.
func TestRestartKnowsTheEndsBeforeItAnswers(t *testing.T) {
	journals(t, func(h *house) {
		waited, told := h.start(messages.RunCommand{Scope: "a/b", Program: messages.Program{Text: "told"}})
		_, missed := h.start(messages.RunCommand{Program: messages.Program{Text: "missed"}, Mode: messages.ModeAsync})
		h.start(messages.RunCommand{Program: messages.Program{Text: "runs"}, Mode: messages.ModeAsync})
		h.ledger.fail(errors.New("input/output error"))
		told.Exit(3)
		h.after(0)
		want(h, "told to its client", reply[messages.CommandFinished](waited).Job.End.Shell(), 3)
		h.die()
		h.ledger.fail(nil)
		missed.Exit(4)
		began := h.since()
		h.begin()
		want(h, "opened in", h.since()-began, replay)
		want(h, "running", len(h.listed(messages.ListJobs{})), 1)
		want(h, "the end that was told", h.job("j1").End.Shell(), 3)
		want(h, "its outcome", h.job("j1").End.Outcome, messages.Exited)
		want(h, "the end that nobody heard", h.job("j2").End.Shell(), 4)
	}, plan{fake: fake.Options{Replay: replay}})
}

// replay is how late an engine tells what it keeps.
const replay = time.Second

// An engine that does not tell the ends it has delays the node for five seconds.
func TestRestartAnswersThoughAnEndIsNotTold(t *testing.T) {
	journals(t, func(h *house) {
		_, p := h.start(messages.RunCommand{Program: messages.Program{Text: "ends"}, Mode: messages.ModeAsync})
		h.die()
		p.Exit(4)
		began := h.since()
		h.begin()
		want(h, "opened in", h.since()-began, 5*time.Second)
		want(h, "shown as", h.job("j1").State, messages.Running)
		h.after(time.Minute)
		want(h, "ended with", h.job("j1").End.Shell(), 4)
	}, plan{fake: fake.Options{Replay: time.Minute}})
}
