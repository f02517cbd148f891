package main

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The daemon refuses passed sockets that it cannot serve before it reports that it is
// ready. Otherwise the service manager would take the unit as started.
func TestBadInputSocketsThatAreHandedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		family, kind int
		at           func(dir string) syscall.Sockaddr
		listening    bool
		want         string
	}{
		"an address of all":    {syscall.AF_INET, syscall.SOCK_STREAM, func(string) syscall.Sockaddr { return &syscall.SockaddrInet4{} }, true, "is not a loopback address"},
		"another loopback one": {syscall.AF_INET, syscall.SOCK_STREAM, func(string) syscall.Sockaddr { return &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 2}} }, true, "is not a loopback address"},
		"packets":              {syscall.AF_UNIX, syscall.SOCK_SEQPACKET, unixAt, true, "is of type unixpacket"},
		"datagrams":            {syscall.AF_UNIX, syscall.SOCK_DGRAM, unixAt, false, "is of type unixgram"},
		"no listener":          {syscall.AF_UNIX, syscall.SOCK_STREAM, unixAt, false, "does not listen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t).bash("LISTEN_PID=$$ exec troupe serve")
			fd, err := syscall.Socket(c.family, c.kind, 0)
			require.NoError(t, err)
			handed := os.NewFile(uintptr(fd), "handed")
			defer handed.Close()
			require.NoError(t, syscall.Bind(fd, c.at(p.dir)))
			if c.listening {
				require.NoError(t, syscall.Listen(fd, 1))
			}
			manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: p.file("n"), Net: "unixgram"})
			require.NoError(t, err)
			defer manager.Close()
			p.Env = append(p.Env, "LISTEN_FDS=1", "NOTIFY_SOCKET="+manager.LocalAddr().String())
			p.ExtraFiles = []*os.File{handed}
			p.start().ends(2)
			require.Contains(t, p.err.String(), c.want)
			require.NoError(t, manager.SetReadDeadline(time.Now())) // what was said is there
			_, err = manager.Read(make([]byte, 64))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		})
	}
}

func unixAt(dir string) syscall.Sockaddr {
	return &syscall.SockaddrUnix{Name: filepath.Join(dir, "handed")}
}
