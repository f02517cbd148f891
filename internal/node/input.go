package node

import (
	"context"
	"errors"
	"io"

	"troupe/messages"
)

// Input returns a writer to the standard input of a job (messages.StdinPipe) or to its
// terminal. A Write returns when the kernel has taken all of it, which may wait for the job,
// or when ctx ends. If the job has finished or has closed its input, the error has a code.
// Write counts whole pieces of at most messages.MaxInput bytes; after an error the job may
// have read more. Close ends the input, and returns nil if the job has finished. One
// goroutine may use the writer.
func (n *Node) Input(ctx context.Context, id messages.JobID) io.WriteCloser {
	return &input{node: n, ctx: ctx, job: id}
}

type input struct {
	node *Node
	ctx  context.Context //nolint:containedctx // a writer's Write takes none
	job  messages.JobID
}

// Write implements io.Writer, in pieces of at most messages.MaxInput bytes.
func (in *input) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), messages.MaxInput)]
		if _, err := AskFor(in.ctx, in.node, messages.WriteInput{Job: in.job, Data: piece}); err != nil {
			return written, err
		}
		written, p = written+len(piece), p[len(piece):]
	}
	return written, nil
}

// Close implements io.Closer.
func (in *input) Close() error {
	_, err := AskFor(in.ctx, in.node, messages.CloseInput{Job: in.job})
	if errors.Is(err, &messages.Error{Code: messages.JobFinished}) {
		return nil
	}
	return err
}
