package run

import (
	"troupe/internal/cli"
	"troupe/messages"
)

// stdinMode returns what the command reads: our stdin, but a terminal only with -i. The
// user there may be typing to the shell.
func stdinMode(m *cli.Main, f *Flags) messages.StdinMode {
	switch {
	case f.NoStdin, f.File == "-":
		return messages.StdinNull
	case f.Interactive, !cli.IsTerminal(m.In):
		return messages.StdinHost
	}
	return messages.StdinNull
}

// streamMode returns whether stdout and stderr stay separate. If both go to the same
// file, or we show neither, one pipe keeps their order.
func streamMode(m *cli.Main, f *Flags) messages.StreamMode {
	switch {
	case f.Streams.Value != "":
		return messages.StreamMode(f.Streams.Value)
	case f.JSON, f.Background, f.Detach, cli.SameFile(m.Out, m.Err):
		return messages.MergedStreams
	}
	return messages.SeparateStreams
}
