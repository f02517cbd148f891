package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"troupe/gateways/http/wire"
	"troupe/messages"
	"troupe/shell"
)

func (m *Main) writeCommand() *cobra.Command {
	var keys string
	var eof bool
	cmd := &cobra.Command{
		Use: "write [flags] JOB [TEXT]", Short: "Write to the input of a job", ValidArgsFunction: m.jobIDs(false, 1),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return exactly(cmd, args, "JOB", "TEXT")
			}
			return oneJob(cmd, args[:min(len(args), 1)]) // an empty text is a line, too
		},
		Long: `Write a line to the standard input of a job; without a text, what troupe itself
reads, byte by byte. The job must read a pipe, one of troupe run -b -i or a
foreground run whose input is still open, or be on a terminal.`,
		Example: `  troupe write j7 yes
  troupe write j7 --keys 'y{enter}'         no newline but those that are named
  troupe write j7 --eof < answers.txt`,
	}
	set := cmd.Flags()
	set.StringVar(&keys, "keys", "", "write `KEYS`: text, and {enter} {tab} {esc} {space} {backspace} <C-c>")
	set.BoolVar(&eof, "eof", false, "then end the input")
	var typed []byte
	check := func(a *asking) (err error) {
		given := a.cmd.Flags().Changed
		switch {
		case given("keys") && len(a.args) > 1:
			return messages.Invalid("keys", "--keys and a text are two things to write; give one of them")
		case given("keys"):
			typed, err = shell.EncodeKeys(keys, shell.KeyMode{Pipe: true})
		case len(a.args) > 1:
			typed = []byte(a.args[1] + "\n")
		case !eof && isTerminal(m.In):
			e := messages.Invalid("input", "there is nothing to write")
			e.Hint = "troupe write JOB TEXT, --keys KEYS, --eof, or send it something: ... | troupe write JOB"
			return e
		}
		return err
	}
	return m.asks(cmd, check, func(a *asking) error {
		w := &inputWriter{asking: a, job: messages.JobID(a.args[0])}
		if len(a.args) > 1 || a.cmd.Flags().Changed("keys") || isTerminal(m.In) {
			return w.finish(eof, w.write(typed))
		}
		return w.finish(eof, w.copy(m.In))
	})
}

// inputWriter writes to the input of a job.
type inputWriter struct {
	*asking
	job     messages.JobID
	through int64
}

// write returns when the kernel has all of it.
func (w *inputWriter) write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), messages.MaxInput)]
		through, err := w.Input(w.ctx, messages.WriteInput{Job: w.job, Data: piece})
		if err != nil {
			return err
		}
		w.through, b = through, b[len(piece):]
	}
	return nil
}

// copy passes on what it reads, as fast as the job takes it.
func (w *inputWriter) copy(from io.Reader) error {
	buf := make([]byte, copyBuffer)
	for {
		n, err := from.Read(buf)
		if werr := w.write(buf[:n]); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unreadable("input", "the input", err)
		}
	}
}

// finish ends the input, if that was asked for, and says how far it came.
func (w *inputWriter) finish(eof bool, err error) error {
	if err == nil && eof {
		err = w.CloseInput(w.ctx, w.job)
	}
	if err == nil && w.json {
		return w.object(wire.Written{V: wire.Version, Through: w.through})
	}
	return err
}
