package screen

import (
	"image/color"

	"github.com/charmbracelet/x/ansi"
)

// asks answers DA and DSR. It says what vt would, as far as that is right: a VT220
// with 132 columns, selective erase and colours.
func (t *emulator) asks(c sequence) {
	t.look()
	at := t.vt.CursorPosition()
	switch what := c.param(0, 0); {
	case c.final == 'c' && c.prefix == 0 && what == 0:
		t.reply(ansi.PrimaryDeviceAttributes(62, 1, 6, 22))
	case c.final == 'c' && c.prefix == '>' && what == 0:
		t.reply(ansi.SecondaryDeviceAttributes(1, 10, 0))
	case c.final == 'n' && c.prefix == 0 && what == 5:
		t.reply(ansi.DeviceStatusReport(ansi.ANSIStatusReport(0)))
	case c.final == 'n' && c.prefix == 0 && what == 6:
		t.reply(ansi.CursorPositionReport(at.Y+1, at.X+1))
	case c.final == 'n' && c.prefix == '?' && what == 6:
		t.reply(ansi.ExtendedCursorPositionReport(at.Y+1, at.X+1, 0))
	}
}

// colour implements sink: white on black, as vt has it.
func (t *emulator) colour(osc int, what []byte) {
	if !asksColour(osc, what) {
		return
	}
	white, black := ansi.XRGBColor{Color: color.White}, ansi.XRGBColor{Color: color.Black}
	switch osc {
	case 10:
		t.reply(ansi.SetForegroundColor(white.String()))
	case 11:
		t.reply(ansi.SetBackgroundColor(black.String()))
	case 12:
		t.reply(ansi.SetCursorColor(white.String()))
	}
}

// asksColour reports whether a string asks for a colour that is answered.
func asksColour(osc int, what []byte) bool {
	return osc >= 10 && osc <= 12 && string(what) == "?"
}
