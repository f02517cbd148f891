package opencode

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/messages"
)

// show returns what a result shows of a stream. It reads only streams within the limits
// whole; a longer one is copied to a file.
func (s *Session) show(ctx context.Context, job messages.Record, stream messages.Stream) shown {
	var size, lost int64
	for _, o := range job.Output {
		if o.Stream == stream {
			size, lost = o.Bytes, elided(o)
		}
	}
	if size == 0 {
		return shown{}
	}
	l := dialect.Log{Ctx: ctx, Host: s.options.Host, Job: messages.JobID(job.UID), Stream: stream}
	text, over, err := s.short(l, size)
	if err == nil && over {
		var out shown
		if out, err = s.long(l, size, lost); err == nil {
			return out
		}
	}
	if err != nil {
		return s.unread(l, err)
	}
	return shown{text: text, note: notKept(lost, stream.String())}
}

func (s *Session) unread(l dialect.Log, err error) shown {
	if l.Ctx.Err() == nil {
		s.options.Log.Warn("an output could not be read", "job", string(l.Job), "stream", l.Stream.String(), "error", err)
	}
	return shown{note: "[" + fmt.Sprintf(textUnread, l.Stream, err) + "]"}
}

// short returns a stream to show whole; over reports that it exceeds a limit.
func (s *Session) short(l dialect.Log, size int64) (text string, over bool, err error) {
	limits := artifact.KeepLimits
	if limits.Exceeded(size, 0) {
		return "", true, nil
	}
	var b strings.Builder
	if err := l.CopyTo(&b, size); err != nil {
		return "", false, err
	}
	text = strings.ToValidUTF8(b.String(), "\uFFFD")
	count := int64(strings.Count(text, "\n"))
	if !strings.HasSuffix(text, "\n") {
		count++
	}
	return text, limits.Exceeded(size, count), nil
}

// long returns the preview of a stream over a limit.
func (s *Session) long(l dialect.Log, size, lost int64) (shown, error) {
	label := l.Stream.String()
	if path, kept, err := s.persist(l, size); err != nil {
		s.options.Log.Warn("a full output could not be saved", "job", string(l.Job), "error", err)
	} else if path != "" {
		f, _, err := artifact.OpenFile(path)
		if err == nil {
			defer f.Close()
			out := long{label: label, path: path}
			if kept < size {
				out.cut = limit(s.s.MaxPersistBytes)
			}
			if out.ends, err = s.readEnds(l.Ctx, f, kept); err == nil {
				return shown{text: s.s.preview(out), cut: true, path: path}, nil
			}
		}
		s.options.Log.Warn("a saved output could not be read", "path", path, "error", err)
	}
	kept := size - lost
	if lost == 0 {
		kept = min(size, s.s.MaxPersistBytes)
	}
	ends, err := s.readEnds(l.Ctx, l, kept)
	if err != nil {
		return shown{}, err
	}
	out := long{label: label, ends: ends}
	if s.s.NoFiles {
		return shown{text: s.s.plain(out), cut: true, note: notKept(size-kept, label)}, nil
	}
	return shown{text: s.s.preview(out), cut: true, note: notKept(size-kept, label)}, nil
}

func (s *Session) readEnds(ctx context.Context, r io.ReaderAt, size int64) (artifact.HeadTail, error) {
	total, err := artifact.CountLines(ctx, r, size)
	if err != nil {
		return artifact.HeadTail{}, err
	}
	return artifact.ReadHeadTail(r, size, total, s.s.ends(total))
}

// persist copies a stream to a file and returns how many bytes the file holds (R-166 to
// The path is "" if the settings want no files.
func (s *Session) persist(l dialect.Log, size int64) (path string, kept int64, err error) {
	if s.files == nil || s.s.NoFiles {
		return "", 0, nil
	}
	s.sweep.Do(s.sweepDead)
	now := s.options.Now()
	f, err := s.files.CreateNew(func(try int) string {
		return artifact.StreamName(now.Add(time.Duration(try)), l.Stream.String())
	})
	if err != nil {
		return "", 0, err
	}
	f.Max = s.s.MaxPersistBytes
	if err = l.CopyTo(f, size); err == nil {
		err = f.Close()
	}
	if err != nil {
		f.Discard()
		return "", 0, err
	}
	return f.Path, f.Size(), nil
}

// sweepDead removes the directories of sessions whose processes died without cleaning up
//
func (s *Session) sweepDead() {
	if gone, err := artifact.Sweep(s.s.TempDir, prefix, nil); err != nil {
		s.options.Log.Warn("directories of dead sessions could not be removed", "error", err)
	} else if len(gone) > 0 {
		s.options.Log.Info("directories of dead sessions were removed", "count", len(gone))
	}
}

func elided(o messages.StreamOutput) int64 {
	var n int64
	for _, gap := range o.Elided {
		n += gap.To - gap.From
	}
	return n
}
