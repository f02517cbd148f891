package terminal

import (
	"os"

	"golang.org/x/sys/unix"

	emulator "troupe/backends/screen"
	"troupe/internal/cli"
)

// screenModes are the modes that a program with the whole screen turns on: the alternate
// screen, keys of the kitty keyboard and of xterm, pasted text in brackets and the mouse; the
// cursor may be hidden, and a frame half drawn.
const screenModes = "\x1b[?1049h\x1b[>1u\x1b[>4;2m\x1b[?2004h\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?25l\x1b[?2026h\x1b[1m"

// GuardScreen starts a guard process that restores the terminal on stdout if this process ends
// before end is called, also by a panic or by SIGKILL: its modes, its screen, the cursor, the mouse and
// the keyboard. Call it before the terminal is changed, and end after it was restored. Until
// then TSTP does not stop this process: the shell would get the terminal as it is now. If the
// guard cannot start, nothing is guarded; the program works without it.
func GuardScreen(m *cli.Main) (end func()) {
	enableSuspend := cli.DisableSuspend()
	end = enableSuspend
	_ = cli.Control(m.Out, func(fd int) {
		was, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return
		}
		text, err := unnamedFile()
		if err != nil {
			return
		}
		(&terminalGuard{text}).keep(undoScreen(cli.TerminalSize(m).Rows))
		process, w, err := startGuard(m.Out, was, text)
		if err != nil {
			_ = text.Close()
			return
		}
		end = func() {
			enableSuspend()
			_, _ = w.Write([]byte{1})
			closeAll(w, text)
			_ = process.Wait()
		}
	})
	return end
}

// undoScreen returns the sequences that undo screenModes on a terminal of so many rows.
func undoScreen(rows int) string {
	var modes emulator.ModeTracker
	modes.Write([]byte(screenModes))
	return modes.Now().Undo(rows) + "\x1b[?2027l" // widths of characters, which ModeTracker does not follow
}

// closeAll closes files.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
