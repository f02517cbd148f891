package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Bounds of a client.
const (
	maxRunning = 256      // requests at a time, each with a goroutine and its response
	maxHeld    = 64 << 20 // bytes of their lines
)

// flushPatience is how long a server whose ctx has ended waits for a client that does not
// read.
const flushPatience = 2 * time.Second

// shownBytes bounds what an error or the log shows of a message.
const shownBytes = 100

// Handler answers a request. The error is an *Error, or becomes one with CodeInternal.
type Handler func(ctx context.Context, params json.RawMessage) (any, error)

// Options configures a Server.
type Options struct {
	// Methods are the handlers by the names of their methods.
	Methods map[string]Handler
	Log     *slog.Logger // nil: discarded
}

// Server serves one client.
type Server struct {
	o       Options
	box     *outbox
	caller  caller
	running sync.WaitGroup

	mu     sync.Mutex
	places int // taken
	held   int // bytes of the lines of requests that run
}

// New returns a server of one client. Serve must be called once.
func New(out io.Writer, o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{o: o, box: newOutbox(out)}
}

// input is a line of the client, or the end of its lines.
type input struct {
	text []byte
	long bool
	err  error
}

// Serve serves until the input ends and the requests that run have their responses. If ctx
// ends, or the client reads no more, they are cancelled. The error is that of the input.
func (s *Server) Serve(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // drops the responses of a client that does not read
		select {
		case <-s.box.failed:
			cancel()
		case <-ctx.Done():
			select {
			case <-time.After(flushPatience):
			case <-s.box.done:
			}
			s.box.stop()
		}
	}()
	lines := make(chan input)
	go read(ctx, in, lines) // ends with ctx, unless the input blocks it
	err := s.listen(ctx, lines)
	s.caller.leave()
	s.running.Wait()
	s.box.close()
	return err
}

func read(ctx context.Context, in io.Reader, lines chan<- input) {
	r := newLineReader(in)
	for {
		text, long, err := r.next()
		select {
		case lines <- input{text, long, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// listen takes lines until the input or ctx ends.
func (s *Server) listen(ctx context.Context, lines <-chan input) error {
	for {
		select {
		case l := <-lines:
			switch {
			case l.long:
				s.reply(respond(nil, nil, invalid("the line has more than %d bytes", MaxLine)), false)
			case len(l.text) > 0:
				s.take(ctx, l.text)
			}
			switch {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return l.err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// replier takes the response to a request; nil: there is none. place is whether the request has
// a place, which it keeps until the response is written.
type replier func(r rendering, place bool)

// reply sends a response.
func (s *Server) reply(r rendering, place bool) {
	if r == nil {
		return
	}
	line := sent{messages: []rendering{r}}
	if place {
		line.before = func() { s.free(1) }
	}
	s.box.send(line)
}

// take answers a line.
func (s *Server) take(ctx context.Context, text []byte) {
	all, several, bad := parse(text)
	if bad != nil {
		s.reply(respond(nil, nil, bad), false)
		return
	}
	answer := s.reply
	if several {
		b := &batch{left: len(all)}
		answer = func(r rendering, place bool) {
			if responses, places := b.add(r, place); len(responses) > 0 {
				s.box.send(sent{messages: responses, batch: true, before: func() { s.free(places) }})
			}
		}
	}
	for _, m := range all {
		s.handle(ctx, m, len(text)/len(all), answer)
	}
}

// handle answers a message of size bytes.
func (s *Server) handle(ctx context.Context, m message, size int, answer replier) {
	handler, known := s.o.Methods[m.method]
	switch {
	case m.answers:
		if m.bad != nil || !s.caller.answer(m) { // no error: the client could take it for the response to a request of its own
			s.o.Log.Warn("the client has answered a request that does not wait", "id", shown(string(m.id)))
		}
		answer(nil, false)
	case m.bad != nil:
		answer(respond(m.id, nil, m.bad), false)
	case m.id == nil:
		s.o.Log.Debug("a notification is ignored", "method", shown(m.method))
		answer(nil, false)
	case !known:
		answer(respond(m.id, nil, &Error{Code: CodeNoMethod, Message: fmt.Sprintf("unknown method %q", shown(m.method))}), false)
	case !s.enter(size):
		answer(respond(m.id, nil, &Error{Code: CodeBusy, Message: fmt.Sprintf("%d requests, or %d bytes of them, are the most at a time; wait for a response", maxRunning, maxHeld)}), false)
	default:
		s.running.Go(func() {
			result, err := handler(ctx, m.params)
			s.forget(size)
			answer(respond(m.id, result, coded(ctx, err)), true)
		})
	}
}

func shown(text string) string { return text[:min(len(text), shownBytes)] }

// enter takes a place for a request of so many bytes, if one is free.
func (s *Server) enter(size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places >= maxRunning || s.held+size > maxHeld {
		return false
	}
	s.places++
	s.held += size
	return true
}

// forget gives the bytes of a request back.
func (s *Server) forget(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= size
}

// free gives places back.
func (s *Server) free(places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places -= places
}

// coded returns the error of a handler as the client gets it; nil: none.
func coded(ctx context.Context, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return nil
	case ok:
		return e
	case ctx.Err() != nil:
		return &Error{Code: CodeInternal, Message: "the server ends, and with it this request"}
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}
