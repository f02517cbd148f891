package console

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"troupe/internal/dialect/omp"
	"troupe/messages"
)

// mostEntries bounds what the console keeps of the commands and messages above the composer.
const mostEntries = 200

// entry is a part of what is above the composer.
type entry interface {
	// draw returns its rows for a screen of a width.
	draw(width int) []string
}

// remark is a text above the composer.
type remark struct {
	text  string
	style ansi.Style

	rows  []string
	width int
}

func (r *remark) draw(width int) []string {
	if r.rows == nil || r.width != width {
		r.rows, r.width = styled(r.style, wrapped(clean(r.text), width)...), width
	}
	return r.rows
}

// Model is the state of a console. All it does outside itself are effects.
type Model struct {
	do       effects
	target   string // of the messages, for display; "": none
	terminal bool   // the tool runs commands on a terminal
	size     messages.Terminal

	composer composer
	outbox   outbox
	entries  []entry
	all      []*execution // the executions among the entries, and those that run
	now      *execution   // the one in the foreground; nil: none
	started  int
	overlay  *omp.Frame // of the terminal of a command; nil: none
	scrolled int        // rows above the end
	status   string
	bad      bool // status is of an error
	leaving  bool // leaving was refused once
}

// newModel makes the model of a console.
func newModel(do effects, target string, terminal bool, size messages.Terminal) *Model {
	m := &Model{do: do, target: target, terminal: terminal, composer: newComposer()}
	m.resized(size)
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resized(messages.Terminal{Rows: msg.Height, Cols: msg.Width})
	case tea.KeyPressMsg:
		cmd = m.press(msg)
	case tea.PasteMsg:
		cmd = m.paste(msg)
	case knownMsg, outputMsg, bangEndedMsg, toolEndedMsg, progressMsg, promotedMsg, loadedMsg, shownMsg:
		cmd = m.executed(msg)
	case noticeMsg:
		m.note(styleMessage, msg.delivery.Text)
	case sentMsg:
		cmd = m.sent(msg)
	case resendMsg:
		if m.outbox.active != nil {
			cmd = m.do.Send(m.outbox.active.message.Text)
		}
	case completedMsg:
		m.completed(msg)
	case overlayMsg:
		m.showTerminal(msg.frame)
	case closedMsg:
		m.overlay = nil
	}
	return m, cmd
}

// showTerminal shows a frame of the terminal of the command in the foreground. Its first size was
// that of the screen when the console began.
func (m *Model) showTerminal(f omp.Frame) {
	if m.now == nil || m.now.mode != asTool {
		return // its result is there
	}
	first := m.overlay == nil
	if m.overlay = &f; first {
		m.now.terminal, m.now.rows = true, nil
		m.do.Resize(m.size)
	}
}

func (m *Model) resized(size messages.Terminal) {
	m.size = size
	m.composer.area.SetWidth(max(1, size.Cols-signWidth))
	if m.overlay != nil {
		m.do.Resize(size)
	}
}

// say sets the line below the composer until the next key.
func (m *Model) say(text string) { m.status, m.bad = text, false }

func (m *Model) complain(text string) { m.status, m.bad = text, true }

// note adds a text above the composer.
func (m *Model) note(style ansi.Style, text string) {
	m.add(&remark{text: text, style: style})
}

func (m *Model) add(e entry) {
	m.entries = append(m.entries, e)
	m.entries = m.entries[max(0, len(m.entries)-mostEntries):]
	if x, is := e.(*execution); is {
		m.all = append(m.all, x)
	}
	m.scrolled = 0
}

// find returns an execution that is not forgotten.
func (m *Model) find(id int) *execution {
	for _, e := range m.all {
		if e.id == id {
			return e
		}
	}
	return nil
}

// submit takes what the composer holds.
func (m *Model) submit() tea.Cmd {
	kind, text, err := m.composer.now().read()
	switch {
	case err != nil:
		m.composer.clear() // else a second ! would be taken for !!
		m.complain(err.Error())
		return nil
	case kind == asMessage:
		return m.send(text)
	}
	return m.run(kind, text)
}

// leave ends the console, at the second request if something would be lost.
func (m *Model) leave() tea.Cmd {
	results, letters := m.outbox.unsent()
	why := ""
	switch {
	case m.now != nil:
		why = textLeavingRuns
	case letters > 0:
		why = textLeavingSend
	case results > 0 && m.target != "":
		why = fmt.Sprintf(textLeavingQueue, counted(results))
	}
	if why == "" || m.leaving {
		return tea.Quit
	}
	m.leaving = true
	m.complain(fmt.Sprintf(textLeaving, why))
	return nil
}
