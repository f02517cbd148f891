package api

import (
	"math"
	"net/url"
	"strconv"

	"troupe/messages"
)

// viewQuery returns the parameters of a view.
func viewQuery(r messages.ReadOutput) (url.Values, error) {
	query := url.Values{"stream": {r.Stream.String()}}
	lines, numbers := int64(r.View.Lines), map[string]int64{"bytes": int64(r.View.Bytes), "offset_stdout": r.After[0], "offset_stderr": r.After[1]}
	switch r.View.Kind {
	case messages.ViewPage:
		numbers["line"], numbers["limit"] = r.View.Offset, lines
	case messages.ViewTailLine:
		numbers["tail"] = lines
	case messages.ViewHeadTail:
		numbers["head"], numbers["tail"] = lines, lines
	case messages.ViewMatches:
		matchesQuery(query, r.View)
	case messages.ViewSize: // the sizes are those of each view
		numbers["tail"], numbers["bytes"] = 1, 1
	case messages.ViewRange:
		return nil, &messages.Error{Code: messages.Unsupported, Reason: "view", Message: "a view of a daemon has no range of bytes", Hint: "read the output from a byte on"}
	}
	for name, n := range numbers {
		if n != 0 {
			query.Set(name, strconv.FormatInt(n, 10))
		}
	}
	switch {
	case r.Final:
		query.Set("final", "true")
	case !r.Plain:
		query.Set("raw", "true")
	}
	return query, nil
}

// matchesQuery adds the parameters of a view of matches.
func matchesQuery(query url.Values, v messages.View) {
	query.Set("grep", v.Pattern)
	if v.Context != 0 {
		query.Set("context", strconv.Itoa(v.Context))
	}
	if v.Times {
		query.Set("times", "true")
	}
	if v.Cursor != "" {
		query.Set("cursor", v.Cursor)
	}
}

// View sets the view of a request to that of its parameters: a page of lines from 1 (line,
// limit), the first lines (head), the last lines (tail), or those that match (grep). Equal head and
// tail are both ends. The default is the end of the output.
func (q Query) View(r *messages.ReadOutput) error {
	if q.Has("since") {
		return &messages.Error{
			Code: messages.Unsupported, Reason: "since", Message: "a view of lines cannot start at a time",
			Hint: "read bytes instead: GET /v1/jobs/{id}/output?since=TIME",
		}
	}
	raw, err := q.Flag("raw")
	if err != nil {
		return err
	}
	if r.Final, err = q.Flag("final"); err != nil {
		return err
	}
	if raw && r.Final {
		return messages.Invalid("final", "final text has no control sequences; leave out raw or final")
	}
	r.Plain = !raw
	if r.View, err = q.view(); err != nil {
		return err
	}
	both := q.Text("stream") == messages.Both.String()
	for i, name := range []string{"offset_stdout", "offset_stderr"} {
		if !both && q.Has(name) {
			return messages.Invalid(name, name+" requires stream=both")
		}
		if r.After[i], err = q.Number(name, 0, 0, math.MaxInt64); err != nil {
			return err
		}
	}
	r.Stream, err = messages.StreamOf(q.Text("stream"))
	if err == nil && both && r.View.Kind != messages.ViewTail {
		return messages.OnlyEndOfBoth()
	}
	return err
}

// matches returns the view of the lines that match grep.
func (q Query) matches() (v messages.View, err error) {
	for _, name := range []string{"line", "limit", "head", "tail"} {
		if q.Has(name) {
			return v, messages.Invalid(name, name+" and grep contradict each other: grep searches the whole output; give one of them")
		}
	}
	v = messages.View{Kind: messages.ViewMatches, Pattern: q.Text("grep"), Cursor: q.Text("cursor")}
	around, err := q.Number("context", 0, 0, messages.MaxContext)
	if err != nil {
		return v, err
	}
	most, err := q.Number("bytes", 0, 1, messages.MaxViewBytes)
	if err != nil {
		return v, err
	}
	v.Context, v.Bytes = int(around), int(most)
	v.Times, err = q.Flag("times")
	return v, err
}

func (q Query) view() (messages.View, error) {
	if q.Has("grep") {
		return q.matches()
	}
	for _, name := range []string{"context", "times", "cursor"} {
		if q.Has(name) {
			return messages.View{}, messages.Invalid(name, name+" requires grep")
		}
	}
	numbers := map[string]int64{}
	for _, p := range []struct {
		name string
		most int64
	}{{"line", math.MaxInt64}, {"limit", math.MaxInt32}, {"head", math.MaxInt32}, {"tail", math.MaxInt32}, {"bytes", messages.MaxViewBytes}} {
		n, err := q.Number(p.name, 0, 1, p.most)
		if err != nil {
			return messages.View{}, err
		}
		numbers[p.name] = n
	}
	v := messages.View{Kind: messages.ViewTail, Bytes: int(numbers["bytes"])}
	page, head, tail := q.Has("line") || q.Has("limit"), q.Has("head"), q.Has("tail")
	switch {
	case page && (head || tail):
		return v, messages.Invalid("line", "a page (line, limit) is another view than head and tail; ask for one of them")
	case page:
		v.Kind, v.Offset, v.Lines = messages.ViewPage, max(1, numbers["line"]), int(numbers["limit"])
	case head && tail && numbers["head"] != numbers["tail"]:
		return v, messages.Invalid("head", "a view of both ends shows as many lines of each; give head and tail the same number")
	case head && tail:
		v.Kind, v.Lines = messages.ViewHeadTail, int(numbers["head"])
	case head:
		v.Kind, v.Offset, v.Lines = messages.ViewPage, 1, int(numbers["head"])
	case tail:
		v.Kind, v.Lines = messages.ViewTailLine, int(numbers["tail"])
	}
	return v, nil
}
