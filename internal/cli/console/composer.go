package console

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"troupe/internal/dialect/codelia"
)

// Limits of the composer.
const (
	composerRows  = 6
	composerChars = 100_000
)

// composer is the place to type in.
type composer struct {
	area    textarea.Model
	bang    bool
	tool    bool
	history history
}

func newComposer() composer {
	a := textarea.New()
	a.Prompt, a.ShowLineNumbers = "", false
	a.CharLimit, a.MaxContentHeight, a.MaxWidth = composerChars, composerChars, 0
	a.DynamicHeight, a.MinHeight, a.MaxHeight = true, 1, composerRows
	a.SetVirtualCursor(false)
	a.SetStyles(textarea.Styles{})
	a.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("shift+enter", "alt+enter", "ctrl+j"))
	for _, off := range []*key.Binding{
		&a.KeyMap.Paste, &a.KeyMap.CopySelection, &a.KeyMap.PageUp, &a.KeyMap.PageDown, &a.KeyMap.TransposeCharacterBackward,
		&a.KeyMap.SelectAll,
	} {
		off.SetEnabled(false)
	}
	a.KeyMap.CharacterBackward.SetKeys("left")
	a.KeyMap.DeleteCharacterForward.SetKeys("delete")
	a.Focus()
	return composer{area: a}
}

// now returns what the composer holds.
func (c *composer) now() input {
	return input{Composer: codelia.Composer{Text: c.area.Value(), Bang: c.bang}, tool: c.tool}
}

// set replaces what the composer holds. The cursor is at the end.
func (c *composer) set(i input) {
	c.bang, c.tool = i.Bang, i.tool
	c.area.SetValue(i.Text)
	c.area.MoveToEnd()
}

// empty reports whether nothing is typed.
func (c *composer) empty() bool { return c.area.Value() == "" }

// clear empties the composer and leaves its mode. It reports whether there was anything.
func (c *composer) clear() bool {
	if c.now() == (input{}) {
		return false
	}
	c.set(input{})
	return true
}

// submitted empties the composer after its input was taken.
func (c *composer) submitted() {
	c.history.add(c.now())
	c.set(input{})
}

// press takes a key. handled is false if the key means nothing here.
func (c *composer) press(k tea.KeyPressMsg) (cmd tea.Cmd, handled bool) {
	switch name := k.String(); {
	case name == "ctrl+t":
		c.bang, c.tool = false, !c.tool
		return nil, true
	case name == "!" && !c.tool:
		if typed := c.now().Typed("!"); typed.Bang != c.bang {
			c.bang = true
			return nil, true
		}
	case name == "esc" || name == "backspace":
		if c.leave() {
			return nil, true
		}
		if name == "esc" {
			return nil, false
		}
	case name == "up" && c.area.Line() == 0 || name == "ctrl+p":
		return nil, c.step(-1)
	case name == "down" && c.area.Line() == c.area.LineCount()-1 || name == "ctrl+n":
		return nil, c.step(1)
	}
	c.area, cmd = c.area.Update(k)
	return cmd, true
}

// leave leaves the mode of an empty composer.
func (c *composer) leave() bool {
	if c.tool && c.empty() {
		c.tool = false
		return true
	}
	after, done := c.now().Erased()
	if done {
		c.bang = after.Bang
	}
	return done
}

func (c *composer) step(by int) bool {
	to, ok := c.history.step(by, c.now())
	if ok {
		c.set(to)
	}
	return true
}

// paste takes a pasted text.
func (c *composer) paste(m tea.PasteMsg) (cmd tea.Cmd) {
	c.area, cmd = c.area.Update(tea.PasteMsg{Content: strings.ReplaceAll(clean(m.Content), "\r", "\n")})
	return cmd
}

// command returns the command that is typed, if the cursor is at its end, and the marks before it.
func (c *composer) command() (marks, command string, ok bool) {
	text := c.area.Value()
	if c.now().mark() == asMessage || c.area.LineCount() > 1 || c.area.Column() != utf8.RuneCountInString(text) {
		return "", "", false
	}
	command = text
	if !c.tool {
		command = strings.TrimLeft(text, "! ")
	}
	return text[:len(text)-len(command)], command, true
}
