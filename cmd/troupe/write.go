package main

import (
	"io"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// writeFlags holds the flags of write.
type writeFlags struct {
	keys       string
	paste, eof bool
}

func writeCommand(m *cli.Main) *cobra.Command {
	f := &writeFlags{}
	cmd := &cobra.Command{
		Use: "write [flags] JOB [TEXT]", Short: "Write to the input of a job", ValidArgsFunction: connect.JobIDs(m, false, 1),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return flags.Exactly(cmd, args, "JOB", "TEXT")
			}
			return flags.OneJob(cmd, args[:min(len(args), 1)]) // an empty text is a line
		},
		Long: `Write TEXT as a line to the input of a job; without TEXT, copy stdin to it byte by
byte. The job must have an open input (troupe run -b -i, or a run in the foreground)
or a terminal. On a terminal, keys are encoded as its program has asked for.`,
		Example: `  troupe write j7 yes
  troupe write j7 --keys 'y{enter}'         no newline is added
  troupe write j7 --keys '{up}<C-c>'        on a terminal
  troupe write j7 --paste < function.py     into an editor
  troupe write j7 --eof < answers.txt`,
	}
	set := cmd.Flags()
	set.StringVar(&f.keys, "keys", "", "write `KEYS`: text, and {enter} {tab} {esc} {space} {backspace} <C-c>, on a terminal {up} {f1} …")
	set.BoolVar(&f.paste, "paste", false, "paste the text: on a terminal without a newline, and bracketed if its program asks")
	set.BoolVar(&f.eof, "eof", false, "then close the input")
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, f.check, func(a *connect.Command) error {
		found, err := host.Ask(a.Ctx, a.Host(), messages.FindJob{Job: messages.JobID(a.Args[0])})
		if err != nil {
			return err
		}
		w := &connect.InputWriter{Ctx: a.Ctx, Host: a.Host(), ID: connect.UID(found.Job)} // its name may mean another job before the end of the input
		err = writeAll(a, f, w, found.Job.Terminal != (messages.Terminal{}))
		if err == nil && f.eof {
			_, err = host.Ask(a.Ctx, a.Host(), messages.CloseInput{Job: w.ID})
		}
		if err == nil && a.JSON {
			return a.Object(messages.InputWritten{Through: w.Through})
		}
		return err
	})
}

// check rejects bad arguments before any request. It rejects unknown keys; which known
// keys can be sent depends on the job.
func (f *writeFlags) check(a *connect.Command) error {
	keys := a.Cmd.Flags().Changed("keys")
	switch {
	case keys && (f.paste || len(a.Args) > 1):
		return messages.Invalid("keys", "--keys contradicts TEXT and --paste; give one of them")
	case keys:
		_, err := shelltext.EncodeKeys(f.keys, shelltext.KeyMode{Kitty: shelltext.Disambiguate | shelltext.AllKeys})
		return err
	case len(a.Args) == 1 && (f.paste || !f.eof) && cli.IsTerminal(a.Main.In):
		e := messages.Invalid("input", "no input to write")
		e.Hint = "give TEXT, --keys or --eof, or use a pipe: ... | troupe write JOB"
		return e
	}
	return nil
}

// writeAll sends the keys, the text, or stdin.
func writeAll(a *connect.Command, f *writeFlags, w *connect.InputWriter, terminal bool) error {
	switch text := a.Args[1:]; {
	case a.Cmd.Flags().Changed("keys"):
		return w.Send(messages.WriteInput{Job: w.ID, Keys: f.keys})
	case f.paste && len(text) > 0:
		return w.Send(messages.WriteInput{Job: w.ID, Paste: text[0]})
	case f.paste:
		b, err := io.ReadAll(io.LimitReader(a.Main.In, messages.MaxInput+1))
		switch {
		case err != nil:
			return out.Unreadable("input", "the input", err)
		case len(b) > messages.MaxInput: // in JSON the text can exceed the request limit
			return &messages.Error{Code: messages.TooLarge, Reason: "input", Message: "the text to paste is over 256 KiB", Hint: "paste it in parts, or write it without --paste"}
		}
		return w.Send(messages.WriteInput{Job: w.ID, Paste: string(b)})
	case len(text) > 0 && terminal: // its enter key sends CR, which it turns into LF unless the program reads raw keys
		return w.Write([]byte(text[0] + "\r"))
	case len(text) > 0:
		return w.Write([]byte(text[0] + "\n"))
	case !cli.IsTerminal(a.Main.In):
		return w.Copy(a.Main.In)
	}
	return nil
}
