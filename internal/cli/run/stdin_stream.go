package run

import (
	"troupe/internal/cli"
	"troupe/messages"
)

// stdinMode says what the command reads: what we do, but no terminal unless asked,
// since whoever sits there may be talking to the shell.
func stdinMode(m *cli.Main, f *Flags) messages.StdinMode {
	switch {
	case f.NoStdin, f.File == "-":
		return messages.StdinNull
	case f.Interactive, !cli.IsTerminal(m.In):
		return messages.StdinHost
	}
	return messages.StdinNull
}

// streamMode says whether stdout and stderr are kept apart. Where both go to the
// same place, or to none of ours, only one pipe keeps their order.
func streamMode(m *cli.Main, f *Flags) messages.StreamMode {
	switch {
	case f.Streams.Value != "":
		return messages.StreamMode(f.Streams.Value)
	case f.JSON, f.Background, f.Detach, cli.SameFile(m.Out, m.Err):
		return messages.MergedStreams
	}
	return messages.SeparateStreams
}
