package screen

import (
	"image/color"

	"github.com/charmbracelet/x/ansi"
)

// replyToQuery answers DA and DSR as vt would, where that is right: as a VT220 with 132
// columns, selective erase and colours.
func (t *emulator) replyToQuery(c sequence) {
	t.flushAll()
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

// colour implements parserSink. It reports white on black, as vt draws.
func (t *emulator) colour(osc int, what []byte) {
	if !isColourQuery(osc, what) {
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

// isColourQuery reports whether a string queries a colour that is answered.
func isColourQuery(osc int, what []byte) bool {
	return osc >= 10 && osc <= 12 && string(what) == "?"
}
