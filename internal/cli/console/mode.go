package console

import (
	"strings"

	"troupe/internal/dialect/codelia"
)

// mode is what the composer's text becomes.
type mode int

const (
	asMessage mode = iota // a message, sent with the results that wait for it
	asBang                // a command whose result goes with the next message
	asApart               // a command whose result goes nowhere
	asTool                // a command as the tool bash runs it, on a terminal
)

// input is the composer's text and how it was entered.
type input struct {
	codelia.Composer
	tool bool // Ctrl+T was pressed: Text is a command for the tool
}

// read returns what an input is, and its text: a command without its marks, or the message
// unchanged.
func (i input) read() (mode, string, error) {
	if i.tool {
		command := strings.TrimSpace(i.Text)
		if command == "" {
			return asTool, "", codelia.ErrBangEmpty
		}
		return asTool, command, nil
	}
	command, is, err := codelia.ParseBang(i.Input())
	if !is {
		return asMessage, i.Input(), nil
	}
	rest, apart := strings.CutPrefix(command, "!")
	if !apart {
		return asBang, command, err
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return asApart, "", codelia.ErrBangEmpty
	}
	return asApart, rest, nil
}

// mark returns the mode that the composer shows, also of an incomplete input.
func (i input) mark() mode {
	m, _, _ := i.read()
	return m
}

// sign returns the beginning of a command in its mode.
func (m mode) sign() string {
	switch m {
	case asBang:
		return "!"
	case asApart:
		return "!!"
	case asTool:
		return "$"
	}
	return "›"
}
