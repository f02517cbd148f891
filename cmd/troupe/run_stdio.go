package main

import (
	"os"

	"golang.org/x/term"

	"troupe/messages"
)

// stdinMode says what the command reads: what we do, but no terminal unless asked,
// since whoever sits there may be talking to the shell.
func stdinMode(m *Main, f *runFlags) messages.StdinMode {
	switch {
	case f.noStdin, f.file == "-":
		return messages.StdinNull
	case f.interactive, !isTerminal(m.In):
		return messages.StdinHost
	}
	return messages.StdinNull
}

// streamMode says whether stdout and stderr are kept apart. Where both go to the
// same place, or to none of ours, only one pipe keeps their order.
func streamMode(m *Main, f *runFlags) messages.StreamMode {
	switch {
	case f.streams.value != "":
		return messages.StreamMode(f.streams.value)
	case f.json, f.background, f.detach, sameFile(m.Out, m.Err):
		return messages.MergedStreams
	}
	return messages.SeparateStreams
}

func sameFile(a, b *os.File) bool {
	x, errA := a.Stat()
	y, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(x, y)
}

func isTerminal(f *os.File) bool {
	is := false
	_ = control(f, func(fd int) { is = term.IsTerminal(fd) })
	return is
}

// control lends the descriptor of a file without making it blocking.
func control(f *os.File, use func(fd int)) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { use(int(fd)) })
}
