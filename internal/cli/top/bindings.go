package top

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// binding is what some keys do.
type binding struct {
	keys  []string
	shown string // the keys in the help
	brief string // in the last line of the screen; "": only in the help
	about string
	do    func(*model) tea.Cmd
}

// bindings returns the keys, in the order of the help.
func bindings() []binding {
	return []binding{
		{[]string{"up", "k"}, "Up k", "", "select the row above", func(m *model) tea.Cmd { return m.move(-1) }},
		{[]string{"down", "j"}, "Down j", "", "select the row below", func(m *model) tea.Cmd { return m.move(1) }},
		{[]string{"pgup", "ctrl+b"}, "PgUp", "", "go up by a screen", func(m *model) tea.Cmd { return m.move(-m.tableHeight()) }},
		{[]string{"pgdown", "space", "ctrl+f"}, "PgDn", "", "go down by a screen", func(m *model) tea.Cmd { return m.move(m.tableHeight()) }},
		{[]string{"home", "g"}, "Home g", "", "select the first row", func(m *model) tea.Cmd { return m.move(-len(m.rows)) }},
		{[]string{"end", "G"}, "End G", "", "select the last row", func(m *model) tea.Cmd { return m.move(len(m.rows)) }},
		{[]string{"a", "enter"}, "a Enter", "attach", "attach to the job; its detach keys come back", (*model).attach},
		{[]string{"l"}, "l", "logs", "print the output of the job, and follow it", (*model).logs},
		{[]string{"i"}, "i", "input", "write a line to the input of the job", (*model).beginLine},
		{[]string{"x"}, "x", "stop", "stop the job, or the jobs of the session or scope", func(m *model) tea.Cmd { return m.stop(false) }},
		{[]string{"K"}, "K", "kill", "kill them at once", func(m *model) tea.Cmd { return m.stop(true) }},
		{[]string{"p"}, "p", "promote", "move the job to the background", (*model).promote},
		{[]string{"/"}, "/", "filter", "show only jobs with a text; Esc shows all", (*model).beginFilter},
		{[]string{"s"}, "s", "sort", "sort by the next key: age, cpu, memory, output, duration, name", (*model).nextSort},
		{[]string{"r"}, "r", "", "reverse the order", func(m *model) tea.Cmd { m.reverse = !m.reverse; return m.arrange() }},
		{[]string{"e"}, "e", "", "show finished jobs too, or hide them", (*model).toggleEnded},
		{[]string{"z"}, "z", "", "give the pane most of the screen, or the table", func(m *model) tea.Cmd { m.zoomed = !m.zoomed; return m.arrange() }},
		{[]string{"?", "h", "f1"}, "?", "help", "show this help", func(m *model) tea.Cmd { m.mode = helpMode; return nil }},
		{[]string{"q", "ctrl+c"}, "q", "quit", "quit; the jobs go on", func(*model) tea.Cmd { return tea.Quit }},
	}
}

// bound returns what a key does; nil: nothing.
func bound(key string) func(*model) tea.Cmd {
	all := bindings()
	i := slices.IndexFunc(all, func(b binding) bool { return slices.Contains(b.keys, key) })
	if i < 0 {
		return nil
	}
	return all[i].do
}
