package codelia

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/messages"
)

// CacheParams holds the parameters of tool_output_cache.
type CacheParams struct {
	RefID  string `json:"ref_id"`
	Offset *int64 `json:"offset,omitempty"`
	Limit  *int64 `json:"limit,omitempty"`
	Head   *int64 `json:"head,omitempty"`
	Tail   *int64 `json:"tail,omitempty"`
}

// CacheLineParams holds the parameters of tool_output_cache_line.
type CacheLineParams struct {
	RefID      string `json:"ref_id"`
	LineNumber int64  `json:"line_number"`
	CharOffset *int64 `json:"char_offset,omitempty"`
	CharLimit  *int64 `json:"char_limit,omitempty"`
}

// CacheGrepParams holds the parameters of tool_output_cache_grep.
type CacheGrepParams struct {
	RefID      string `json:"ref_id"`
	Pattern    string `json:"pattern"`
	Regex      bool   `json:"regex,omitempty"`
	Before     int    `json:"before,omitempty"`
	After      int    `json:"after,omitempty"`
	MaxMatches *int   `json:"max_matches,omitempty"`
}

// CachePage implements the tool tool_output_cache.
func (s *Session) CachePage(ctx context.Context, p CacheParams) (string, *Error) {
	choice := artifact.Selection{Offset: p.Offset, Limit: p.Limit, Head: p.Head, Tail: p.Tail}
	if err := choice.Check(); err != nil {
		return "", invalid(textInvalid)
	}
	from, done, bad := s.open(p.RefID)
	if bad != nil {
		return "", bad
	}
	defer done()
	return s.page(ctx, from.lines(), p.RefID, choice)
}

func (s *Session) page(ctx context.Context, r *artifact.Reader, ref string, choice artifact.Selection) (string, *Error) {
	var offset, limit int64
	switch {
	case choice.Tail != nil:
		total, err := r.Count(ctx)
		if err != nil {
			return "", unread(ref, err)
		}
		offset, limit = max(0, total-*choice.Tail), *choice.Tail
	case choice.Head != nil:
		limit = *choice.Head
	default:
		offset, limit = or(choice.Offset, 0), or(choice.Limit, 0)
	}
	page, err := r.Page(ctx, offset, artifact.PageOptions{
		Limit: int(min(limit, int64(s.limits.ReadBytes))), LineMax: s.limits.LineChars, Bytes: s.limits.ReadBytes, Overhead: numberBytes,
	})
	if err != nil {
		return "", unread(ref, err)
	}
	return shownPage(page, offset), nil
}

// numberBytes is the width of a line number, its blanks and the mark of a cut line.
const numberBytes = 10

// shownPage renders a page for the model.
func shownPage(page artifact.Page, offset int64) string {
	if page.Past {
		return fmt.Sprintf(textCachePast, offset, page.Total)
	}
	var b strings.Builder
	for i, l := range page.Lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(numberedLine(l))
	}
	switch {
	case page.More && page.Full:
		fmt.Fprintf(&b, textCacheSize, page.Next)
	case page.More:
		fmt.Fprintf(&b, textCacheMore, page.Next)
	}
	if len(page.Cut) > 0 {
		fmt.Fprintf(&b, textCacheLong, cutLines(page.Cut))
	}
	return b.String()
}

func numberedLine(l artifact.Line) string {
	text := fmt.Sprintf("%5d  %s", l.Number+1, l.Text)
	if l.Cut {
		text += "..."
	}
	return text
}

// cutLines lists up to three line numbers; more are "many".
func cutLines(all []int64) string {
	if len(all) > 3 {
		return textCacheMany
	}
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = fmt.Sprint(n + 1)
	}
	return strings.Join(names, ", ")
}

// CacheLine returns a part of one line of a cached output.
func (s *Session) CacheLine(ctx context.Context, p CacheLineParams) (string, *Error) {
	if p.LineNumber < 1 || p.CharOffset != nil && *p.CharOffset < 0 || p.CharLimit != nil && *p.CharLimit < 1 {
		return "", invalid(textInvalid)
	}
	from, done, bad := s.open(p.RefID)
	if bad != nil {
		return "", bad
	}
	defer done()
	return line(ctx, from.lines(), p)
}

// cutLine implements the tool tool_output_cache_line with CacheLine: its message is bounded.
func (s *Session) cutLine(ctx context.Context, p CacheLineParams) (string, *Error) {
	text, bad := s.CacheLine(ctx, p)
	return CutMessage(text, p.RefID, artifact.NoteBytes), bad
}

func line(ctx context.Context, r *artifact.Reader, p CacheLineParams) (string, *Error) {
	part, err := r.Line(ctx, p.LineNumber-1, or(p.CharOffset, 0), or(p.CharLimit, artifact.DefaultLineChars))
	if errors.Is(err, artifact.ErrNoLine) {
		return "", invalid(textLineMissing, p.LineNumber)
	}
	if err != nil {
		return "", unread(p.RefID, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "ref_id=%s\nline_number=%d\nline_length=%d\nchar_range=%d..%d\n", p.RefID, p.LineNumber, part.Length, part.From, part.To)
	if part.More {
		fmt.Fprintf(&b, textLineMore+"\n", part.To)
	}
	b.WriteString("\n" + part.Text)
	return b.String(), nil
}

// CacheGrep implements the tool tool_output_cache_grep.
func (s *Session) CacheGrep(ctx context.Context, p CacheGrepParams) (string, *Error) {
	switch {
	case p.Pattern == "":
		return "", invalid(textPattern)
	case p.Before < 0 || p.After < 0 || p.MaxMatches != nil && *p.MaxMatches < 1:
		return "", invalid(textGrepNumbers)
	}
	from, done, bad := s.open(p.RefID)
	if bad != nil {
		return "", bad
	}
	defer done()
	o := artifact.GrepOptions{Regex: p.Regex, Before: p.Before, After: p.After, LineMax: s.limits.LineChars, Bytes: s.limits.GrepBytes, Overhead: numberBytes + len(p.RefID) + len(blockHead)}
	if p.MaxMatches != nil {
		o.Max = *p.MaxMatches
	}
	found, err := from.lines().Grep(ctx, p.Pattern, o)
	var failed *os.PathError
	switch {
	case ctx.Err() != nil, errors.As(err, &failed):
		return "", unread(p.RefID, err)
	case err != nil:
		return "", invalid(textGrepPattern, err)
	case found.TooLarge:
		return fmt.Sprintf(textGrepLarge, found.Next+1, p.RefID), nil
	case found.Found == 0:
		return fmt.Sprintf(textGrepNone, p.RefID, p.Pattern), nil
	}
	return shownMatches(p.RefID, found), nil
}

const blockHead = "ref:"

func shownMatches(ref string, found artifact.Matches) string {
	blocks := make([]string, 0, len(found.Blocks)+1)
	for _, block := range found.Blocks {
		text := blockHead + ref
		for _, l := range block {
			text += "\n" + numberedLine(l)
		}
		blocks = append(blocks, text)
	}
	if found.More {
		blocks = append(blocks, fmt.Sprintf(textGrepMore, found.Next+1))
	}
	return strings.Join(blocks, "\n\n")
}

func or(n *int64, otherwise int64) int64 {
	if n == nil {
		return otherwise
	}
	return *n
}

// output is the bytes of a stream, in the cache or in the log of its job.
type output struct {
	io.ReaderAt
	size int64
}

// lines returns a reader of the output by line.
func (o output) lines() *artifact.Reader {
	return artifact.NewReader(o, o.size, artifact.ReaderOptions{LastEmpty: true})
}

// open opens a cached output for reading. done closes it.
func (s *Session) open(ref string) (o output, done func(), bad *Error) {
	if strings.TrimSpace(ref) == "" {
		return output{}, nil, invalid(textRef)
	}
	if s.o.Files == nil {
		return output{}, nil, invalid(textCacheError, ref, textCacheMissing)
	}
	dir, err := s.o.Files.Path()
	if err != nil {
		return output{}, nil, unread(ref, err)
	}
	f, size, err := artifact.OpenFile(filepath.Join(dir, artifact.CacheName(ref)))
	if errors.Is(err, fs.ErrNotExist) {
		return output{}, nil, invalid(textCacheError, ref, textCacheMissing)
	}
	if err != nil {
		return output{}, nil, unread(ref, err)
	}
	return output{f, size}, func() { _ = f.Close() }, nil // opened for reading only
}

// unread returns the error of an output that cannot be read, without file paths.
func unread(ref string, err error) *Error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		err = failed.Err
	}
	return &Error{Code: CodeInternal, Message: fmt.Sprintf(textCacheError, ref, err)}
}

// Output implements shell.output. It reads the cache, or the log if the output is not
// cached.
func (s *Session) Output(ctx context.Context, p OutputParams) (OutputResult, error) {
	if bad := p.check(); bad != nil {
		return OutputResult{}, bad
	}
	t, bad := s.known(p.TaskID)
	if bad != nil {
		return OutputResult{}, bad
	}
	stream := messages.Stdout
	if p.Stream == "stderr" {
		stream = messages.Stderr
	}
	ref := s.ref(t, stream)
	result := OutputResult{TaskID: t.id, Stream: p.Stream, Cached: ref != "", RefID: ref}
	from, done, bad := s.outputOf(ctx, t, stream, ref)
	if bad != nil {
		return OutputResult{}, bad
	}
	defer done()
	r := from.lines()
	if ref == "" {
		ref = t.id + "_" + p.Stream
	}
	if p.LineNumber != nil {
		if *p.LineNumber < 1 || or(p.CharOffset, 0) < 0 || or(p.CharLimit, 1) < 1 {
			return OutputResult{}, invalid(textInvalid)
		}
		result.Content, bad = line(ctx, r, CacheLineParams{RefID: ref, LineNumber: *p.LineNumber, CharOffset: p.CharOffset, CharLimit: p.CharLimit})
	} else {
		choice := artifact.Selection{Offset: p.Offset, Limit: p.Limit}
		if choice.Check() != nil {
			return OutputResult{}, invalid(textInvalid)
		}
		result.Content, bad = s.page(ctx, r, ref, choice)
	}
	switch {
	case ctx.Err() != nil:
		return OutputResult{}, ctx.Err()
	case bad != nil:
		return OutputResult{}, bad
	}
	return result, nil
}

// outputOf opens the output of a task: the cached one with the reference, or the log without.
func (s *Session) outputOf(ctx context.Context, t *task, stream messages.Stream, ref string) (output, func(), *Error) {
	if ref != "" {
		return s.open(ref)
	}
	job, err := dialect.Job(ctx, s.o.Host, messages.JobID(t.id))
	if err != nil {
		return output{}, nil, internal(err)
	}
	return output{s.logOf(ctx, t, stream), t.captured(job, stream)}, func() {}, nil
}

// ref returns the reference of a task's cached output, "" if it is not cached.
func (s *Session) ref(t *task, stream messages.Stream) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.excerpt(stream).ref
}
