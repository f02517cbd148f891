package acp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"troupe/internal/dialect"
	"troupe/internal/dialect/omp"
)

// Options configures an agent. All are required.
type Options struct {
	// Open opens a session. Its *messages.Error may blame the parameters.
	Open    func(Place) (Session, error)
	Version string
	Log     *slog.Logger
}

// Place is where a session works.
type Place struct {
	ID     string             // unique
	Dir    string             // an absolute path
	Client omp.ClientTerminal // nil: the client has no terminals
}

// Session runs commands. *omp.Session implements it.
type Session interface {
	Bash(ctx context.Context, p omp.Params, update func(dialect.Result)) (dialect.Result, error)
	// Close ends the session. No command runs any more.
	Close(ctx context.Context) error
}

// Serve serves one client until its input or ctx ends. It then cancels the prompts that run,
// answers them and closes the sessions. Its goroutine that reads ends with in, and one that
// writes with out.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	a := newAgent(o, out)
	read := make(chan error, 1)
	go func() { read <- a.listen(in) }()
	var err error
	select {
	case err = <-read:
	case <-a.conn.dead:
	case <-ctx.Done():
		err = ctx.Err()
	}
	a.cancel() // before leave: a turn without replies has then been cancelled
	if ctx.Err() == nil {
		a.conn.leave()
	} else { // the client may still answer the ends of its terminals
		defer time.AfterFunc(replyTime, a.conn.leave).Stop()
	}
	defer time.AfterFunc(drainTime, func() { a.conn.fail(errStuck) }).Stop()
	a.end()
	return errors.Join(err, a.conn.flush())
}

// listen serves the messages of the client until its input ends.
func (a *agent) listen(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := readLine(lines)
		switch {
		case long:
			a.conn.refuse(nil, refusal(codeInvalidRequest, "the message has more than %d bytes", maxLine))
		case len(line) > 0:
			a.serve(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
