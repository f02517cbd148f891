package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"troupe/messages"
)

func guardCommand(m *Main) *cobra.Command {
	return &cobra.Command{
		Use: guardVerb, Short: "Restore the terminal of a troupe that is killed", Args: noArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			var was unix.Termios
			from := os.NewFile(guardFile, "guarded")
			if err := binary.Read(from, binary.NativeEndian, &was); err != nil {
				err := messages.Invalid("terminal", "there is no terminal to guard")
				err.Hint = "troupe run --pty and troupe attach start this themselves"
				return err
			}
			if _, err := io.ReadFull(from, make([]byte, 1)); err == nil {
				return nil
			}
			text := make([]byte, guardSize)
			_, _ = os.NewFile(guardText, "text").ReadAt(text, 0)
			return control(m.In, func(fd int) {
				_ = unix.IoctlSetTermios(fd, setTermios, &was)
				_, _ = unix.Write(fd, bytes.Trim(text, "\x00"))
			})
		},
	}
}
