package run

import (
	"context"
	"errors"
	"io"

	"troupe/client"
	"troupe/internal/cli/connect"
	"troupe/messages"
)

// daemonReader follows an output of a job of the daemon. It opens the output again while the
// next daemon does not know the job.
type daemonReader struct {
	ctx    context.Context //nolint:containedctx // a reader's Read takes none
	host   *jobHost
	stream messages.Stream
	offset int64
	to     int64 // negative: to the end of the stream
	gaps   []messages.OutputGap

	now  *client.Output // open output; nil: none
	seen int            // gaps of now that are in gaps
}

// Offset implements host.Reader. All bytes before it were read or left out.
func (s *daemonReader) Offset() int64 { return s.offset }

// Gaps implements host.Reader.
func (s *daemonReader) Gaps() []messages.OutputGap { return s.gaps }

// Read implements io.Reader.
func (s *daemonReader) Read(p []byte) (int, error) {
	for s.to < 0 || s.offset < s.to {
		if s.now == nil {
			if err := s.open(); err != nil {
				return 0, err
			}
		}
		n, err := s.now.Read(p)
		s.advance(n)
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		case err != nil && !s.host.again(err):
			return 0, s.broken(err)
		case err != nil:
			_ = s.Close()
			s.now = nil
		}
	}
	return 0, io.EOF
}

// advance takes n bytes, and the gaps before them.
func (s *daemonReader) advance(n int) {
	gaps, _ := s.now.Gaps()
	for _, gap := range gaps[s.seen:] {
		s.gaps, s.offset = append(s.gaps, gap), max(s.offset, gap.To)
	}
	s.seen = len(gaps)
	s.offset += int64(n)
}

func (s *daemonReader) open() error {
	what := client.Range{Stream: s.stream, Offset: s.offset, Follow: true}
	if s.to >= 0 {
		what.Limit = s.to - s.offset
	}
	now, err := connect.RetryBusy(s.ctx, s.host.again, func() (*client.Output, error) {
		return s.host.daemon.Output(s.ctx, s.host.name(), what)
	})
	if err != nil {
		return s.broken(err)
	}
	s.now, s.seen = now, 0
	return nil
}

// broken returns the error of an output that cannot be read on.
func (s *daemonReader) broken(err error) error {
	var coded *messages.Error
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case errors.As(err, &coded) && coded.Code != messages.ShuttingDown:
		return err
	}
	return connect.BrokenOff(err)
}

// Close implements io.Closer.
func (s *daemonReader) Close() error {
	if s.now == nil {
		return nil
	}
	return s.now.Close()
}
