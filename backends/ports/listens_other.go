//go:build !linux

package ports

import (
	"net"
	"strconv"

	"troupe/messages"
)

// listens reports whether any process of this machine listens on port. This platform does not
// show the owner of a socket.
func listens(_ messages.Record, port int) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("localhost", strconv.Itoa(port)), patience)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// Of returns nil: this platform does not show the sockets of a process.
func (*Reader) Of([]int) []messages.ListeningPort { return nil }
