package omp

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
)

// mostShown bounds the loaded part of an artifact, in bytes.
const mostShown = 4 << 20

// Show draws a result. An expanded one gets the whole output from its artifact, or
// the last 4 MiB of it.
func (s *Session) Show(_ context.Context, r dialect.Result, v View) []string {
	if v.Expanded && !v.IsFull {
		v.Full, v.IsFull = s.full(r)
	}
	return Render(r, v)
}

// full returns the whole output of a cut result, if an artifact has it.
func (s *Session) full(r dialect.Result) (string, bool) {
	d, _ := r.Details.(*Details)
	if d == nil || d.Meta == nil || d.Meta.Truncation == nil || d.Meta.Truncation.ArtifactID == "" || s.options.Files == nil {
		return "", false
	}
	id := d.Meta.Truncation.ArtifactID
	path, err := s.options.Files.Find(id)
	if err != nil {
		return "", false
	}
	file, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", false
	}
	head, from := "", max(0, info.Size()-mostShown)
	if from > 0 {
		head = fmt.Sprintf(textTooMuchToSee, size(from), id) + "\n"
	}
	tail := artifact.NewTail(mostShown)
	if _, err := io.Copy(tail, io.NewSectionReader(file, from, info.Size()-from)); err != nil {
		return "", false
	}
	return head + strings.TrimRight(tail.String(), "\n"), true
}
