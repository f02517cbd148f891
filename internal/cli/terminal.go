package cli

import (
	"os"

	"golang.org/x/term"

	"troupe/backends/pty"
	"troupe/messages"
)

// SameFile reports whether two descriptors refer to the same file.
func SameFile(a, b *os.File) bool {
	x, errA := a.Stat()
	y, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	is := false
	_ = Control(f, func(fd int) { is = term.IsTerminal(fd) })
	return is
}

// Control calls use with the descriptor of a file and keeps it non-blocking.
func Control(f *os.File, use func(fd int)) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { use(int(fd)) })
}

// TerminalSize returns the size of our terminal, found through any standard stream, or
// the default size.
func TerminalSize(m *Main) messages.Terminal {
	size := messages.Terminal{Rows: pty.Rows, Cols: pty.Cols}
	for _, f := range []*os.File{m.Out, m.In, m.Err} {
		found := false
		_ = Control(f, func(fd int) {
			if cols, rows, err := term.GetSize(fd); err == nil && rows > 0 && cols > 0 {
				size, found = messages.Terminal{Rows: rows, Cols: cols}, true
			}
		})
		if found {
			break
		}
	}
	return size
}
