package top

import (
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"troupe/host"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// actionDone is the result of an action: what it did, or why not.
type actionDone struct {
	text string
	err  error
}

// onJob calls act with the selected job. If no job is selected, the status line says so.
func (m *model) onJob(act func(row) tea.Cmd) tea.Cmd {
	at, is := m.current()
	if !is || at.kind != jobRow {
		m.say("", errors.New("this works on a job: select one"))
		return nil
	}
	return act(at)
}

// stop stops the selected job with its grace, or kills it. The jobs of a session or a scope are
// stopped after a confirmation.
func (m *model) stop(kill bool) tea.Cmd {
	at, is := m.current()
	if !is {
		return nil
	}
	doing, done, request := "stopping", "stopped", messages.StopCommand{Reason: "troupe top"}
	if kill {
		doing, done, request.Grace = "killing", "killed", -1
	}
	what := ""
	switch at.kind {
	case jobRow:
		what, request.Job = "job "+string(at.job.ID), messages.JobID(at.job.UID)
	case sessionRow:
		what, request.Scope, request.Session = "the jobs of session "+string(at.session), at.scope, at.session
	case scopeRow:
		what, request.Scope = "the jobs of scope "+string(at.scope)+" and below it", at.scope
	}
	send := func() tea.Cmd {
		m.say(doing+" "+what+" …", nil)
		return func() tea.Msg {
			stopped, err := host.Ask(m.ctx(), m.Host(), request)
			return actionDone{stoppedText(what, done, stopped), err}
		}
	}
	if at.kind == jobRow {
		return send()
	}
	m.mode, m.confirmed = confirmMode, send
	m.say(doing+" "+what+": sure? y/n", nil)
	return nil
}

// stoppedText says what a stop has done.
func stoppedText(what, done string, s messages.CommandStopped) string {
	switch {
	case len(s.Survivors) > 0:
		return what + ": " + out.SurvivorError(s.Survivors[0]).Error()
	case s.Already:
		return what + " had finished already"
	case len(s.Jobs) > 1:
		return fmt.Sprintf("%s: %s %s", what, out.Plural(len(s.Jobs), "job"), done)
	}
	return what + " " + done
}

// promote moves the selected job to the background, as troupe promote does.
func (m *model) promote() tea.Cmd {
	return m.onJob(func(at row) tea.Cmd {
		return func() tea.Msg {
			_, err := host.Ask(m.ctx(), m.Host(), messages.PromoteCommand{Job: messages.JobID(at.job.UID), Keep: true})
			return actionDone{"job " + string(at.job.ID) + " is in the background", err}
		}
	})
}

// beginLine begins a line for the input of the selected job.
func (m *model) beginLine() tea.Cmd {
	return m.onJob(func(at row) tea.Cmd {
		if at.job.State.Ended() {
			m.say("", &messages.Error{Code: messages.JobFinished, Message: fmt.Sprintf("job %s has finished", at.job.ID)})
			return nil
		}
		m.mode, m.line, m.lineFor = lineMode, field{}, at
		return nil
	})
}

// pressLine edits the line, or sends it.
func (m *model) pressLine(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		m.mode, m.line = tableMode, field{}
		return nil
	case "enter":
		text := m.line.text
		m.mode, m.line = tableMode, field{}
		return m.write(m.lineFor.job.Record, text)
	}
	m.line.press(k)
	return nil
}

// write writes a line to the input of a job, as troupe write does.
func (m *model) write(job messages.Record, line string) tea.Cmd {
	end := "\n"
	if job.Terminal != (messages.Terminal{}) {
		end = "\r" // the enter key of its terminal
	}
	return func() tea.Msg {
		_, err := host.Ask(m.ctx(), m.Host(), messages.WriteInput{Job: messages.JobID(job.UID), Data: []byte(line + end)})
		return actionDone{fmt.Sprintf("wrote %s to job %s", out.Plural(len(line)+1, "byte"), job.ID), err}
	}
}
