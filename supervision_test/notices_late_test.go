package supervision_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// A command that reads late is given the record once: who tells it asks again how far the
// command is, while what it gave before still waits to be taken.
func TestNoticeOfALateReader(t *testing.T) {
	inHouse(t, func(h *house) {
		job := h.ends(strings.Repeat("x", 2*messages.MaxInput), 0, "tell")
		p := h.proc("tell")
		p.FillInput(true)
		p.Begin()
		h.after(40 * time.Second) // it was asked again
		p.FillInput(false)
		h.after(0)
		text, closed := p.Input()
		if !json.Valid([]byte(text)) || strings.Count(text, "\n") != 1 {
			h.Errorf("%d bytes are no record", len(text))
		}
		want(h, "closed", closed, true)
		p.Exit(0)
		h.after(0)
		h.wantNotices(job.ID, "delivered 1")
	})
}
