package http

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// outputBoth sends stdout and stderr of a job that keeps them apart, in the order in which
// they arrived, as frames that name the stream (wire.Frame). What was there is in
// that order; what comes while it is followed, as it comes.
func (c *request) outputBoth(follow bool) error {
	m, err := c.mixed(follow)
	if err != nil {
		return err
	}
	ctx, cancel := c.stream()
	defer cancel()
	for _, s := range m.streams {
		if s.from, err = c.node.Output(ctx, messages.JobID(m.job.UID), s.out.Stream, s.at); err != nil {
			return err
		}
		defer func() { _ = s.from.Close() }()
	}
	if err := m.check(); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", wire.FramesType)
	h.Set("Trailer", wire.GapsTrailer)
	c.w.WriteHeader(http.StatusOK)
	m.rc = http.NewResponseController(c.w)
	err = m.rc.Flush()
	for err == nil && m.news { // what comes while a slow reader reads is in order, too
		err = m.inOrder()
	}
	if err == nil {
		err = m.rest(follow)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a reply that is cut short is seen to be
	}
	c.w.Header().Set(wire.GapsTrailer, m.gapsText())
	return nil
}

// interleaver is two streams on their way to one reader.
type interleaver struct {
	*request
	job     messages.Job
	streams []*interleavedStream
	rc      *http.ResponseController
	news    bool       // more may have arrived than was shown in order
	mu      sync.Mutex // of who writes
}

// interleavedStream is one of the two.
type interleavedStream struct {
	out  messages.StreamOutput
	at   int64 // where it begins
	end  int64 // where it ends
	from Output
}

// mixed is the mix that the request asks for.
func (c *request) mixed(follow bool) (*interleaver, error) {
	job, err := c.separate()
	if err != nil {
		return nil, err
	}
	m := &interleaver{request: c, job: job, news: true}
	for _, out := range job.Output {
		s := &interleavedStream{out: out, end: math.MaxInt64}
		if s.at, err = c.number("offset_"+out.Stream.String(), 0, 0, math.MaxInt64); err != nil {
			return nil, err
		}
		if s.at, err = c.since(job, out.Stream, s.at); err != nil {
			return nil, err
		}
		if !follow {
			s.end = max(s.at, out.Bytes)
		}
		m.streams = append(m.streams, s)
	}
	return m, nil
}

// separate is the job of the path, which keeps its streams apart.
func (c *request) separate() (messages.Job, error) {
	job, err := c.node.Job(c.ctx, c.id())
	if err == nil && len(job.Output) != 2 {
		err = messages.Invalid("stream", fmt.Sprintf("job %s has not both streams; it has %s", job.ID, streamNames(job)))
	}
	return job, err
}

// check says that an output was forgotten, as long as that can be told.
func (m *interleaver) check() error {
	for _, s := range m.streams {
		if s.at >= s.out.Bytes {
			continue
		}
		page, err := m.node.Read(m.ctx, messages.ReadOutput{Job: messages.JobID(m.job.UID), Stream: s.out.Stream, View: messages.View{Kind: messages.ViewSize}})
		if err != nil {
			return err
		}
		if page.Bytes < s.out.Bytes {
			return forgotten()
		}
	}
	return nil
}

// inOrder sends what has arrived, in order.
func (m *interleaver) inOrder() error {
	m.news = false
	for a, err := range m.node.OutputOrder(m.job) {
		if err != nil {
			return err
		}
		s := m.streams[0]
		if a.Stream == m.streams[1].out.Stream {
			s = m.streams[1]
		}
		to := min(a.To, s.end)
		if to <= s.from.Offset() {
			continue
		}
		m.news = true
		s.from.End(to)
		if err := m.copy(s); err != nil {
			return err
		}
	}
	return nil
}

// rest sends what the order did not tell of: side by side if it is still to come,
// else one behind the other.
func (m *interleaver) rest(follow bool) error {
	ended := make(chan error, len(m.streams))
	for _, s := range m.streams {
		s.from.End(s.end)
		if !follow {
			ended <- m.copy(s)
			continue
		}
		go func() { ended <- m.copy(s) }()
	}
	var err error
	for range m.streams {
		err = errors.Join(err, <-ended)
	}
	return err
}

// copy sends one stream to the end of its reader.
func (m *interleaver) copy(s *interleavedStream) error {
	buf := make([]byte, copyBuffer)
	for {
		n, err := s.from.Read(buf[wire.FrameHead:])
		if n > 0 {
			if werr := m.frame(s.out.Stream, buf[:wire.FrameHead+n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// frame sends one, whose head it fills in.
func (m *interleaver) frame(stream messages.Stream, b []byte) error {
	copy(b, []byte{byte(stream), 0, 0, 0})
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-wire.FrameHead))
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.w.Write(b); err != nil {
		return err
	}
	return m.rc.Flush()
}

// gapsText is the value of the trailer: gaps of stdout, then those of stderr.
func (m *interleaver) gapsText() string {
	var parts []string
	for _, s := range m.streams {
		if text := gapsText(s.from.Gaps()); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ",")
}
