package http

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// outputFrames sends stdout and stderr of a job that keeps them apart, or one stream, as
// frames that name the stream (api.FrameHead). Stored output comes in the order of its arrival,
// followed output as it arrives. With times, frames say when the bytes after them arrived.
func (c *request) outputFrames(both, follow, times bool) error {
	m, err := c.framed(both, follow, times)
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
	h.Set(api.OffsetHeader, m.offsets())
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

// interleaver sends one stream or two to one reader.
type interleaver struct {
	*request
	job     messages.Record
	streams []*interleavedStream
	rc      *http.ResponseController
	news    bool       // output may have arrived since the last ordered part
	gapped  bool       // gaps are sent as frames
	mu      sync.Mutex // guards writes
}

// interleavedStream is one of the streams.
type interleavedStream struct {
	out  messages.StreamOutput
	at   int64 // first byte to send
	end  int64 // end, exclusive
	from Output
	told int // gaps sent as frames

	arrived func(off int64) (time.Time, int64, error) // nil: times are not sent
	second  int64                                     // of the last time that was sent; 0: not known, or none was sent
}

// framed returns the interleaver that the request describes.
func (c *request) framed(both, follow, times bool) (*interleaver, error) {
	var job messages.Record
	var one messages.StreamOutput
	var err error
	if both {
		job, err = c.separate()
	} else {
		job, one, err = c.outputTarget()
	}
	if err != nil {
		return nil, err
	}
	m := &interleaver{request: c, job: job, news: both, gapped: c.prefers(api.Resumable)}
	for _, out := range job.Output {
		name := "offset_" + out.Stream.String()
		if !both {
			name = "offset"
		}
		if !both && out.Stream != one.Stream {
			continue
		}
		s := &interleavedStream{out: out}
		if s.at, s.end, err = c.outputRange(job, out, name, follow); err != nil {
			return nil, err
		}
		if times {
			s.arrived = c.node.Arrivals(job, out.Stream)
		}
		m.streams = append(m.streams, s)
	}
	return m, nil
}

// offsets returns the first bytes for the header.
func (m *interleaver) offsets() string {
	var all []string
	for _, s := range m.streams {
		all = append(all, strconv.FormatInt(s.at, 10))
	}
	return strings.Join(all, ",")
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
		if err := m.copy(s, to); err != nil {
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
		if !follow {
			ended <- m.copy(s, s.end)
			continue
		}
		go func() { ended <- m.copy(s, s.end) }()
	}
	var err error
	for range m.streams {
		err = errors.Join(err, <-ended)
	}
	return err
}

// copy sends one stream up to a byte, or to its end.
func (m *interleaver) copy(s *interleavedStream, end int64) error {
	buf := make([]byte, copyBuffer)
	for {
		at, to, err := s.part(end)
		if err != nil {
			return err
		}
		s.from.End(to)
		n, err := s.from.Read(buf[api.FrameHead:])
		if gerr := m.gaps(s); gerr != nil {
			return gerr
		}
		if n > 0 {
			if werr := errors.Join(m.time(s, at), m.frame(s.out.Stream, 0, buf[:api.FrameHead+n])); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF) && s.from.Offset() >= to && to < end: // the next part has another time
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// part returns when the next bytes arrived, and where they end. The zero time is not known;
// bytes to come have none before they are read.
func (s *interleavedStream) part(end int64) (func() time.Time, int64, error) {
	if s.arrived == nil {
		return nil, end, nil
	}
	at, to, err := s.arrived(s.from.Offset())
	if to == math.MaxInt64 {
		return time.Now, end, err
	}
	return func() time.Time { return at }, min(to, end), err
}

// time sends the time of the bytes that follow, if it is another second than that before.
func (m *interleaver) time(s *interleavedStream, at func() time.Time) error {
	if at == nil {
		return nil
	}
	arrived, ms := at(), int64(0)
	if !arrived.IsZero() {
		ms = arrived.UnixMilli()
	}
	if ms/1000 == s.second {
		return nil
	}
	s.second = ms / 1000
	b := make([]byte, api.FrameHead, api.FrameHead+api.TimeSize)
	return m.frame(s.out.Stream, api.TimeFrame, binary.BigEndian.AppendUint64(b, uint64(ms))) //nolint:gosec // after 1970
}

// gaps sends the gaps that the reader has found, in the places of their bytes.
func (m *interleaver) gaps(s *interleavedStream) error {
	for all := s.from.Gaps(); m.gapped && s.told < len(all); s.told++ {
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
