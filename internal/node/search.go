package node

import (
	"context"
	"fmt"
	"time"

	"troupe/actors"
	"troupe/internal/artifact"
	"troupe/messages"
	"troupe/spill"
	"troupe/spill/view"
)

// searchTime bounds the time of one page of a search: the client learns how far it is, and
// a client that has gone stops it.
const searchTime = 250 * time.Millisecond

// search returns one page of the lines of a stream that match a pattern. It reads the log in
// the goroutine of the request, so that no actor waits for it.
func (n *Node) search(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	if bad := r.View.CheckMatches(); bad != nil {
		return messages.OutputPage{}, bad
	}
	at, err := parseCursor(r.View.Cursor)
	if err != nil {
		return messages.OutputPage{}, err
	}
	f, err := n.Output(ctx, r.Job, r.Stream, 0)
	if err != nil {
		return messages.OutputPage{}, err
	}
	defer f.Close()
	page := messages.OutputPage{Job: f.job, Stream: r.Stream, From: at.Offset, To: at.Offset}
	if f.log == nil {
		if f.log, err = f.open(); actors.IsEvicted(err) { // the job has not started
			return page, nil
		} else if err != nil {
			return page, err
		}
	}
	st := f.log.State()
	if spill.IsMissing(f.log) && st.Size > 0 {
		return page, messages.OutputForgotten()
	}
	page.Bytes, page.Closed = st.Size, st.Closed
	s := &searcher{log: f.log, view: r.View, until: time.Now().Add(searchTime), room: view.DefaultBytes, plain: r.Plain}
	if r.View.Bytes > 0 {
		s.room = r.View.Bytes
	}
	if r.View.Times {
		job, err := n.Job(ctx, r.Job)
		if err != nil {
			return page, err
		}
		s.label = (&arrivalClock{node: n, job: job, stream: r.Stream, size: st.Size}).label
	}
	next, done, err := s.page(ctx, at, st)
	if err != nil {
		return page, searchError(ctx, err)
	}
	page.Text, page.Matches, page.To = string(s.text), s.matches, next.Offset
	if !done {
		page.Next, page.Truncated = cursorOf(next), true
	}
	for _, g := range st.Gaps {
		if g.From >= page.From && g.From < page.To {
			page.Gaps = append(page.Gaps, messages.OutputGap(g))
		}
	}
	return page, nil
}

// searchError returns the error of a search: of its pattern, unless the log or ctx failed.
func searchError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if artifact.IsPatternError(err) {
		return messages.Invalid("grep", err.Error())
	}
	return err
}

// searcher makes one page of a search.
type searcher struct {
	log   spill.Log
	view  messages.View
	until time.Time
	plain bool
	label func(off int64) []byte

	room    int // bytes of text that the page may still have
	text    []byte
	matches int
}

// page searches the kept ranges of the log from a place on. A gap hides lines: those after it
// have no numbers.
func (s *searcher) page(ctx context.Context, at artifact.Place, st spill.State) (next artifact.Place, done bool, err error) {
	for _, kept := range keptRanges(st, at.Offset) {
		if kept.From > at.Offset {
			at = artifact.Place{Offset: kept.From, Shown: at.Shown}
		}
		if len(s.text) > 0 && (s.room <= len(s.text) || time.Now().After(s.until)) {
			return at, false, nil
		}
		found, err := artifact.NewReader(s.log, kept.To, artifact.ReaderOptions{}).Search(ctx, s.view.Pattern, at, artifact.SearchOptions{
			Context: s.view.Context, Bytes: s.room - len(s.text), Until: s.until, Plain: s.plain, Label: s.label,
		})
		if err != nil {
			return at, false, err
		}
		s.text, s.matches, at = append(s.text, found.Text...), s.matches+found.Matches, found.Next
		if !found.Done {
			return at, false, nil
		}
	}
	return artifact.Place{Offset: max(at.Offset, st.Size)}, true, nil
}

// keptRanges returns the ranges of a log from an offset on that are kept.
func keptRanges(st spill.State, from int64) (kept []spill.Gap) {
	for _, g := range st.Gaps {
		if g.From > from {
			kept = append(kept, spill.Gap{From: from, To: g.From})
		}
		from = max(from, g.To)
	}
	if from < st.Size {
		kept = append(kept, spill.Gap{From: from, To: st.Size})
	}
	return kept
}

// cursorOf returns the text of a place for clients, who need not read it.
func cursorOf(p artifact.Place) string {
	return fmt.Sprintf("%d.%d.%d.%d", p.Offset, p.Line, p.After, p.Shown)
}

// parseCursor returns the place of a cursor.
func parseCursor(text string) (p artifact.Place, err error) {
	if text == "" {
		return artifact.Place{Line: 1}, nil
	}
	n, err := fmt.Sscanf(text, "%d.%d.%d.%d", &p.Offset, &p.Line, &p.After, &p.Shown)
	if err != nil || n != 4 || cursorOf(p) != text || min(p.Offset, p.Line, p.After, p.Shown) < 0 || p.After > messages.MaxContext {
		return p, messages.Invalid("cursor", fmt.Sprintf("invalid cursor %.64q: use next of the page before", text))
	}
	return p, nil
}
