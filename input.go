package troupe

import (
	"context"
	"errors"
	"io"

	"troupe/messages"
)

// Input writes to the standard input of a job (messages.StdinPipe), or types on its
// terminal. A Write returns when all of it was handed to the kernel, however long the
// job takes to read, or when ctx ends. A job that is over, or has closed its input, is an
// error with a code. What is counted are whole pieces of at most messages.MaxInput bytes:
// behind an error the job may have read more. Close ends the input, unless the job has
// ended. It is for one goroutine.
func (n *Node) Input(ctx context.Context, id messages.JobID) io.WriteCloser {
	return &input{node: n, ctx: ctx, job: id}
}

type input struct {
	node *Node
	ctx  context.Context //nolint:containedctx // a writer's Write takes none
	job  messages.JobID
}

// Write implements io.Writer, in pieces that a request may have.
func (in *input) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), messages.MaxInput)]
		if _, err := AskFor[messages.InputWritten](in.ctx, in.node, messages.WriteInput{Job: in.job, Data: piece}); err != nil {
			return written, err
		}
		written, p = written+len(piece), p[len(piece):]
	}
	return written, nil
}

// Close implements io.Closer.
func (in *input) Close() error {
	_, err := AskFor[messages.Acknowledged](in.ctx, in.node, messages.CloseInput{Job: in.job})
	if errors.Is(err, &messages.Error{Code: messages.JobFinished}) {
		return nil
	}
	return err
}
