package opencode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
)

const (
	defaultLimit = artifact.ViewLines
	viewNumber   = 7 // width of a line number with its bar, in bytes
)

// View shows a part of a file. An invalid path is a result.
func (s *Session) View(ctx context.Context, p ViewParams) (dialect.Result, error) {
	switch {
	case p.FilePath == "":
		return dialect.Failure(textNoPath), nil
	case p.Offset < 0:
		return dialect.Failure(fmt.Sprintf(textBadOffset, p.Offset)), nil
	}
	path := p.FilePath
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.options.Dir, path)
	}
	f, size, err := artifact.OpenFile(path)
	if err != nil {
		return dialect.Failure(notOpened(path, err)), nil
	}
	defer f.Close()
	if artifact.IsImage(path) {
		return dialect.Failure(fmt.Sprintf(textImage, path)), nil
	}
	limit := int64(defaultLimit)
	if p.Limit > 0 {
		limit = min(p.Limit, artifact.DefaultPageBytes) // a line has at least one byte
	}
	page, err := artifact.NewReader(f, size, artifact.ReaderOptions{}).Page(ctx, p.Offset, artifact.PageOptions{
		Limit: int(limit), LineMax: artifact.ViewChars, Bytes: min(artifact.DefaultPageBytes, s.s.net()-around), Overhead: viewNumber,
	})
	if ctx.Err() != nil {
		return dialect.Result{}, ctx.Err()
	}
	if err != nil {
		return dialect.Failure(fmt.Sprintf(textNoFile, err)), nil
	}
	return dialect.Result{Text: s.s.caught(numbered(page, p.Offset))}, nil
}

// numbered renders a page with line numbers.
func numbered(page artifact.Page, offset int64) string {
	var b strings.Builder
	b.WriteString(textViewOpen + "\n")
	for _, l := range page.Lines {
		fmt.Fprintf(&b, "%6d|%s", l.Number+1, l.Text)
		if l.Cut {
			b.WriteString("...")
		}
		b.WriteByte('\n')
	}
	switch {
	case page.Past:
		fmt.Fprintf(&b, textPast+"\n", page.Total, offset)
	case len(page.Lines) == 0:
		b.WriteString(textEmpty + "\n")
	case page.More:
		fmt.Fprintf(&b, "\n"+textMore+"\n", page.Next)
	}
	b.WriteString(textViewClose + "\n")
	return b.String()
}

func notOpened(path string, err error) string {
	var missing *artifact.Missing
	switch {
	case errors.As(err, &missing):
		text := fmt.Sprintf(textMissing, path)
		if len(missing.Similar) > 0 {
			text += fmt.Sprintf(textSimilar, strings.Join(missing.Similar, "\n"))
		}
		return text
	case errors.Is(err, artifact.ErrDirectory):
		return fmt.Sprintf(textDirectory, path)
	}
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Sprintf(textNoFile, path+": "+failed.Err.Error())
	}
	return fmt.Sprintf(textNoFile, err)
}
