package console

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"troupe/internal/dialect/codelia"
)

// send takes a message of the user. It is sent with the results that wait for it, exactly as it
// was typed after them.
func (m *Model) send(text string) tea.Cmd {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if m.target == "" {
		m.complain(textNoTarget)
		return nil
	}
	now, err := m.outbox.submit(text)
	if err != nil {
		m.complain(err.Error())
		return nil
	}
	m.composer.submitted()
	if !now {
		m.note(styleDim, "› "+text+"\n"+textWaits)
		return nil
	}
	m.say(textSending + " …")
	return m.do.Send(m.outbox.active.message.Text)
}

// sent takes the end of sending the active message. A message that failed keeps its results
// queued.
func (m *Model) sent(msg sentMsg) tea.Cmd {
	if m.outbox.active == nil {
		return nil
	}
	after, done, back := m.outbox.sent(msg.err)
	switch {
	case after > 0:
		m.complain(fmt.Sprintf(textSendAgain, msg.err))
		return tea.Tick(after, func(time.Time) tea.Msg { return resendMsg{} })
	case done != nil:
		text := textSentAlone
		if n := done.message.Results(); n > 0 {
			text = fmt.Sprintf(textSent, counted(n))
		}
		m.note(styleMessage, "› "+done.text+"\n  "+text)
		m.say(text)
		if msg.reply != "" {
			m.note(styleNone, msg.reply)
		}
	default:
		m.notSent(back, msg.err)
	}
	if m.outbox.active != nil {
		return m.do.Send(m.outbox.active.message.Text)
	}
	return nil
}

// notSent says that a message was not sent, and gives its text back.
func (m *Model) notSent(back *letter, why error) {
	text := fmt.Sprintf(textNotSentAlone, why)
	if n := m.outbox.queue.Len(); n > 0 {
		text = fmt.Sprintf(textNotSent, why, counted(n))
	}
	if m.composer.now() == (input{}) {
		m.composer.set(input{Composer: codelia.Composer{Text: back.text}})
	} else {
		text += textTextBack
	}
	m.note(styleBad, text)
	m.complain(text)
}
