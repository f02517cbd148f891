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

	"troupe/internal/api"
	"troupe/messages"
)

// outputBoth sends stdout and stderr of a job that keeps them apart, as frames that
// name the stream (api.FrameHead). Stored output comes in the order of its arrival,
// followed output as it arrives.
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
	h.Set("Content-Type", api.FramesType)
	h.Set("Trailer", api.GapsTrailer)
	h.Set(api.OffsetHeader, fmt.Sprintf("%d,%d", m.streams[0].at, m.streams[1].at))
	c.w.WriteHeader(http.StatusOK)
	m.rc = http.NewResponseController(c.w)
	err = m.rc.Flush()
	for err == nil && m.news { // output that arrives meanwhile is in order, too
		err = m.inOrder()
	}
	if err == nil {
		err = m.rest(follow)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the reader sees that the reply is incomplete
	}
	c.w.Header().Set(api.GapsTrailer, m.gapsText())
	return nil
}

// interleaver sends two streams to one reader.
type interleaver struct {
	*request
	job     messages.Record
	streams []*interleavedStream
	rc      *http.ResponseController
	news    bool       // output may have arrived since the last ordered part
	framed  bool       // gaps are sent as frames
	mu      sync.Mutex // guards writes
}

// interleavedStream is one of the two streams.
type interleavedStream struct {
	out  messages.StreamOutput
	at   int64 // first byte to send
	end  int64 // end, exclusive
	from Output
	told int // gaps sent as frames
}

// mixed returns the interleaver that the request describes.
func (c *request) mixed(follow bool) (*interleaver, error) {
	job, err := c.separate()
	if err != nil {
		return nil, err
	}
	m := &interleaver{request: c, job: job, news: true, framed: c.prefers(api.Resumable)}
	for _, out := range job.Output {
		s := &interleavedStream{out: out, end: math.MaxInt64}
		if s.at, err = c.query.Number("offset_"+out.Stream.String(), 0, 0, math.MaxInt64); err != nil {
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

// separate returns the job of the path if it keeps its streams apart.
func (c *request) separate() (messages.Record, error) {
	job, err := c.node.Job(c.ctx, c.id())
	if err == nil && len(job.Output) != 2 {
		err = messages.Invalid("stream", fmt.Sprintf("job %s does not have both streams; it has %s", job.ID, streamNames(job)))
	}
	return job, err
}

// check reports removed output while an error reply is still possible.
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
			return messages.OutputForgotten()
		}
	}
	return nil
}

// inOrder sends the output that has arrived, in order.
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

// rest sends the output that the order does not cover: both streams at once with
// follow, otherwise stdout before stderr.
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
		n, err := s.from.Read(buf[api.FrameHead:])
		if gerr := m.gaps(s); gerr != nil {
			return gerr
		}
		if n > 0 {
			if werr := m.frame(s.out.Stream, 0, buf[:api.FrameHead+n]); werr != nil {
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

// gaps sends the gaps that the reader has found, in the places of their bytes.
func (m *interleaver) gaps(s *interleavedStream) error {
	for all := s.from.Gaps(); m.framed && s.told < len(all); s.told++ {
		b := make([]byte, api.FrameHead, api.FrameHead+api.GapSize)
		b = binary.BigEndian.AppendUint64(b, uint64(all[s.told].From))
		b = binary.BigEndian.AppendUint64(b, uint64(all[s.told].To))
		if err := m.frame(s.out.Stream, api.GapFrame, b); err != nil {
			return err
		}
	}
	return nil
}

// frame fills in the head of a frame and sends it.
func (m *interleaver) frame(stream messages.Stream, kind byte, b []byte) error {
	copy(b, []byte{byte(stream), kind, 0, 0})
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-api.FrameHead))
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.w.Write(b); err != nil {
		return err
	}
	return m.rc.Flush()
}

// gapsText formats the gaps for the trailer: stdout before stderr.
func (m *interleaver) gapsText() string {
	var parts []string
	for _, s := range m.streams {
		if text := gapsText(s.from.Gaps()); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ",")
}
