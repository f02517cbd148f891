package http

import (
	"net/http"

	"troupe/internal/gateway/http/wire"
)

// screen sends the contents of the job's terminal.
func (c *request) screen() error {
	s, err := c.node.Screen(c.ctx, c.id())
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Screen{
		V: wire.Version, Job: s.Job, Rows: s.Size.Rows, Cols: s.Size.Cols, Cursor: wire.Cursor{Row: s.Row, Col: s.Col, Visible: s.Visible},
		Alternate: s.Alternate, Title: s.Title, Lines: wire.List(s.Lines),
		Keys: wire.Keys{Cursor: s.Keys.Cursor, Keypad: s.Keys.Keypad, Paste: s.Keys.Paste, Kitty: s.Keys.Kitty}, Modes: s.Modes, At: s.At, Bytes: s.Bytes,
	})
}
