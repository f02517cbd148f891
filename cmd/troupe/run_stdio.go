package main

import (
	"troupe/internal/cli"
	"troupe/messages"
)

// stdinMode says what the command reads: what we do, but no terminal unless asked,
// since whoever sits there may be talking to the shell.
func stdinMode(m *cli.Main, f *runFlags) messages.StdinMode {
	switch {
	case f.noStdin, f.file == "-":
		return messages.StdinNull
	case f.interactive, !cli.IsTerminal(m.In):
		return messages.StdinHost
	}
	return messages.StdinNull
}

// streamMode says whether stdout and stderr are kept apart. Where both go to the
// same place, or to none of ours, only one pipe keeps their order.
func streamMode(m *cli.Main, f *runFlags) messages.StreamMode {
	switch {
	case f.streams.Value != "":
		return messages.StreamMode(f.streams.Value)
	case f.json, f.background, f.detach, cli.SameFile(m.Out, m.Err):
		return messages.MergedStreams
	}
	return messages.SeparateStreams
}
