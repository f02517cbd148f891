package top

import (
	"context"
	"os"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// mode is what typed keys mean.
type mode uint8

const (
	tableMode   mode = iota
	filterMode       // they are the filter
	lineMode         // they are a line for the input of a job
	confirmMode      // y confirms
	helpMode         // any key leaves the help
)

// model is the state of the program. Only Update changes it.
type model struct {
	*connect.Command
	scope messages.ScopePath // "": all

	jobs    jobs
	rows    []row
	columns []column
	filter  field
	sort    string
	reverse bool

	selected rowKey
	cursor   int // index of the selected row
	first    int // index of the first row on the screen

	width, height int
	zoomed        bool
	mode          mode
	line          field
	lineFor       row              // the job that gets the line
	confirmed     func() tea.Cmd   // what y does
	note, failure string           // the status line: what was done, or an error; a failure is marked
	unreachable   string           // why the last refresh failed
	now           func() time.Time // a clock, for tests

	pane    pane
	refresh refreshState
	events  *gathered
	child   *childProcess
	signal  os.Signal // that ends the program; nil: none

	dirty bool // the view is older than the state
	drawn tea.View
}

// Flags holds the flags of top.
type Flags struct {
	All   bool
	Scope string
	Sort  string
}

// newModel returns the model before the first list.
func newModel(a *connect.Command, f *Flags) *model {
	return &model{
		Command: a, scope: messages.ScopePath(f.Scope), sort: f.Sort, now: time.Now, dirty: true,
		jobs: jobs{finished: f.All}, events: newGathered(), child: &childProcess{}, width: messages.DefaultCols, height: messages.DefaultRows,
	}
}

// signalled reports a signal that ends the program.
type signalled struct{ signal os.Signal }

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.followEvents(), m.awaitEvents(), m.list(), tick())
}

// Update implements tea.Model.
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	m.dirty = true
	switch msg := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m, m.arrange()
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		m.paste(msg.Content)
		return m, m.arrange()
	case tea.MouseClickMsg:
		return m, m.click(tea.Mouse(msg))
	case tea.MouseWheelMsg:
		return m, m.wheel(tea.Mouse(msg))
	case listed:
		return m, m.took(msg)
	case ticked:
		return m, m.onTick()
	case eventsCame:
		return m, m.takeEvents(msg)
	case eventsEnded:
		return m, m.lostEvents(msg)
	case paneRead:
		return m, m.takePane(msg)
	case actionDone:
		m.say(msg.text, msg.err)
		return m, nil
	case childEnded:
		m.child.back()
		m.say("", msg.err)
		return m, tea.Batch(m.arrange(), m.list())
	case signalled:
		m.signal = msg.signal
		return m, tea.Quit
	}
	m.dirty = false
	return m, nil
}

// say sets the status line: what was done, or the sentence of an error.
func (m *model) say(text string, err error) {
	m.note, m.failure = text, ""
	if err != nil {
		m.failure = sentence(err)
	}
}

// sentence returns the text of an error as a verb prints it.
func sentence(err error) string { return out.Sentence(out.Coded(connect.Connected(err))) }

// press handles a key.
func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	switch m.mode {
	case helpMode:
		m.mode = tableMode
		return nil
	case confirmMode:
		m.mode = tableMode
		if m.say("", nil); key == "y" {
			return m.confirmed()
		}
		return nil
	case filterMode:
		return m.pressFilter(k)
	case lineMode:
		return m.pressLine(k)
	}
	if key == "esc" {
		m.filter = field{}
		m.say("", nil)
		return m.arrange()
	}
	if do := bound(key); do != nil {
		return do(m)
	}
	return nil
}

// paste takes a pasted text, if one is typed.
func (m *model) paste(text string) {
	switch m.mode {
	case filterMode:
		m.filter.paste(text)
	case lineMode:
		m.line.paste(text)
	}
}

func (m *model) beginFilter() tea.Cmd {
	m.mode = filterMode
	return nil
}

// pressFilter edits the filter, which applies at once.
func (m *model) pressFilter(k tea.KeyPressMsg) tea.Cmd {
	switch key := k.String(); {
	case key == "enter":
		m.mode = tableMode
		return nil
	case key == "esc" || key == "ctrl+c":
		m.mode, m.filter = tableMode, field{}
	case !m.filter.press(k):
		return nil
	}
	return m.arrange()
}

func (m *model) nextSort() tea.Cmd {
	keys := SortKeys()
	return m.sortBy(keys[(slices.Index(keys, m.sort)+1)%len(keys)])
}

// sortBy sorts by a key; by the same again, in the reverse order.
func (m *model) sortBy(key string) tea.Cmd {
	m.reverse = key == m.sort && !m.reverse
	m.sort = key
	m.say("sorted by "+key, nil)
	return m.arrange()
}

func (m *model) toggleEnded() tea.Cmd {
	if m.jobs.finished = !m.jobs.finished; m.jobs.finished {
		m.say("with finished jobs", nil)
	} else {
		m.say("without finished jobs", nil)
	}
	m.refresh.fullDue = time.Time{}
	return m.list()
}

// move moves the selection by so many rows.
func (m *model) move(by int) tea.Cmd { return m.choose(m.cursor + by) }

// choose selects the row with an index, or the nearest one.
func (m *model) choose(index int) tea.Cmd {
	m.cursor = max(0, min(index, len(m.rows)-1))
	m.selected = rowKey{}
	if len(m.rows) > 0 {
		m.selected = m.rows[m.cursor].rowKey
	}
	m.scroll()
	return m.follow()
}

// scroll moves the first row so that the selected one is on the screen.
func (m *model) scroll() {
	height := max(m.tableHeight(), 1)
	m.first = max(m.first, m.cursor-height+1)
	m.first = max(0, min(m.first, m.cursor, len(m.rows)-height))
}

// arrange makes the rows again, and finds the selected one among them. If it has gone, the row
// in its place is selected.
func (m *model) arrange() tea.Cmd {
	m.columns = columnsFor(m.width)
	m.rows = m.jobs.rowsOf(m.filter.text, m.sort, m.reverse, m.now())
	if at := slices.IndexFunc(m.rows, func(r row) bool { return r.rowKey == m.selected }); at >= 0 {
		m.cursor = at
	} else if m.selected == (rowKey{}) { // the first job, below its scope
		m.cursor = max(0, slices.IndexFunc(m.rows, func(r row) bool { return r.kind == jobRow }))
	}
	return m.choose(m.cursor)
}

// current returns the selected row.
func (m *model) current() (row, bool) {
	if m.cursor >= len(m.rows) {
		return row{}, false
	}
	return m.rows[m.cursor], true
}

// ctx returns the context of the verb.
func (m *model) ctx() context.Context { return m.Ctx }
