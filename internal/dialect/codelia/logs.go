package codelia

import (
	"context"

	"troupe/internal/artifact"
	"troupe/messages"
)

// Limits of shell_logs. Its text is escaped in JSON, so it has less than a message may have.
const (
	maxTailLines = 500
	logBytes     = 32 << 10
)

// taskLogs is the result of shell_logs.
type taskLogs struct {
	TaskID       string `json:"task_id"`
	Key          string `json:"key"`
	Label        string `json:"label,omitempty"`
	Stream       string `json:"stream"`
	Live         bool   `json:"live"`
	CacheID      string `json:"cache_id,omitempty"`
	Content      string `json:"content"`
	TailLines    *int64 `json:"tail_lines,omitempty"`
	TotalLines   int64  `json:"total_lines"`
	OmittedLines int64  `json:"omitted_lines"`
	Truncated    bool   `json:"truncated"`
	TotalBytes   int64  `json:"total_bytes"`
}

// shellLogs implements the tool shell_logs: the end of a stream, which may still grow.
func (s *Session) shellLogs(ctx context.Context, p logsParams) (taskLogs, error) {
	t, bad := s.named(p.Key)
	switch {
	case bad != nil:
		return taskLogs{}, bad
	case p.Stream != "" && p.Stream != "stdout" && p.Stream != "stderr":
		return taskLogs{}, invalid(textStream)
	case p.TailLines != nil && (*p.TailLines < 1 || *p.TailLines > maxTailLines):
		return taskLogs{}, invalid(textTailLines, maxTailLines)
	}
	l := taskLogs{TaskID: t.id, Key: t.key, Label: t.label, Stream: p.Stream, TailLines: p.TailLines, Live: true}
	stream := messages.Stdout
	if l.Stream == "" {
		l.Stream = "stdout"
	}
	if l.Stream == "stderr" {
		stream = messages.Stderr
	}
	select {
	case <-t.settled:
		l.Live = false
	default:
	}
	l.CacheID = s.ref(t, stream)
	source, done, bad := s.outputOf(ctx, t, stream, l.CacheID)
	if bad != nil {
		return taskLogs{}, bad
	}
	defer done()
	if err := l.read(ctx, source); err != nil {
		if ctx.Err() != nil {
			return taskLogs{}, ctx.Err()
		}
		return taskLogs{}, unread(t.key, err)
	}
	return l, nil
}

// read reads the end of an output: whole lines, or the last bytes of a line that is too long.
func (l *taskLogs) read(ctx context.Context, from output) error {
	total, err := artifact.CountLines(ctx, from, from.size)
	if err != nil {
		return err
	}
	lines := total
	if l.TailLines != nil {
		lines = min(*l.TailLines, total)
	}
	ends, err := artifact.ReadHeadTail(from, from.size, total, artifact.HeadTailOptions{Tail: int(min(lines, logBytes)), Bytes: logBytes})
	if err != nil {
		return err
	}
	l.Content, l.TotalBytes, l.Truncated = ends.Head+ends.Tail, from.size, !ends.Whole() // a whole text is the head
	l.TotalLines, l.OmittedLines = total, ends.Omitted
	return nil
}
