package pi

import (
	"context"
	"errors"
	"io"
	"sync"

	"troupe/internal/dialect/omp"
)

// Session runs the commands of a client. It is safe for concurrent use.
type Session interface {
	// ExecuteTo runs a command. While it runs, to receives its whole output as clean text. If
	// ctx ends, the command is stopped, which is not an error.
	ExecuteTo(ctx context.Context, command string, to io.Writer) (omp.BashResult, error)
}

// server serves one client.
type server struct {
	session Session
	out     *lineWriter
	running sync.WaitGroup // commands
	places  chan struct{}  // one for each command

	// For the goroutine that handles requests.
	commands context.Context //nolint:containedctx // of the commands since the last abort_bash
	abort    context.CancelFunc
}

// Serve serves one client. At the end of its input it answers the requests that run. If ctx
// ends or the client cannot be written to, it stops the commands and returns why. It does not
// wait for reads and writes that block.
func Serve(ctx context.Context, in io.Reader, out io.Writer, session Session) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &server{session: session, out: newLineWriter(out, cancel), places: make(chan struct{}, maxCommands)}
	err := s.out.send(ctx, ready{typeReady})
	if err == nil {
		lines := make(chan input)
		go readLines(ctx, in, lines)
		err = s.serve(ctx, lines)
	}
	s.running.Wait()
	s.stop()
	if closed := s.out.close(ctx); err == nil {
		err = closed
	}
	return err
}

// input is a line, or why there is none.
type input struct {
	line []byte
	err  error
}

// readLines passes on lines until the input or ctx ends. It ends with the input alone if that
// blocks.
func readLines(ctx context.Context, in io.Reader, lines chan<- input) {
	defer close(lines)
	for r := newLineReader(in); ; {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return
		}
		select {
		case lines <- input{line, err}:
		case <-ctx.Done():
			return
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

// serve handles lines until their end or that of ctx.
func (s *server) serve(ctx context.Context, lines <-chan input) error {
	for {
		select {
		case it, more := <-lines:
			if !more {
				return nil
			}
			if err := s.handle(ctx, it); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// handle handles one line. Its error is of the client, which can no longer be served.
func (s *server) handle(ctx context.Context, it input) error {
	if errors.Is(it.err, errLong) {
		return s.out.send(ctx, failed(request{kind: kindParse}, it.err))
	}
	if it.err != nil {
		return it.err
	}
	r, err := decode(it.line)
	switch {
	case err != nil:
		return s.out.send(ctx, failed(r, err))
	case r.kind == kindBash:
		return s.run(ctx, r)
	case r.kind == kindAbort:
		s.stop()
		return s.out.send(ctx, succeeded(r, nil))
	case r.kind == kindReply:
		return nil
	}
	return s.out.send(ctx, failed(r, invalid("type", "unknown command %q: use %s or %s", r.kind, kindBash, kindAbort)))
}
