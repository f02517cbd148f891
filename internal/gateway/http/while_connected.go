package http

import (
	"context"
	"os"
	"syscall"
)

// A long request belongs to its connection and ends with it. The HTTP server watches a
// connection only until a byte arrives after the request: a stray newline or the next
// request. From then on this file watches the connection.

// Read implements net.Conn. The server reads a single byte when it watches for the end.
func (d *clientConn) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	if n == 1 && len(p) == 1 {
		d.readMu.Lock()
		d.pipelined = true
		look := d.onPipelined
		d.readMu.Unlock()
		if look != nil {
			look()
		}
	}
	return n, err
}

// whileConnected returns a context that ends when the client of a request disconnects,
// even if the client has sent more. end releases its resources.
func (d *clientConn) whileConnected(ctx context.Context) (there context.Context, end func()) {
	there, cancel := context.WithCancel(ctx)
	look := func() {
		if line := d.dupConn(); line != nil {
			context.AfterFunc(there, func() { _ = line.Close() })
			go func() {
				defer cancel()
				awaitHangUp(line)
			}()
		}
	}
	d.readMu.Lock()
	pending := d.pipelined
	if !pending {
		d.onPipelined = look
	}
	d.readMu.Unlock()
	if pending { // a byte of an earlier request, or of this one before its handler ran
		look()
	}
	return there, func() {
		d.readMu.Lock()
		d.onPipelined = nil
		d.readMu.Unlock()
		cancel()
	}
}

// dupConn duplicates the connection's descriptor, to wait on it beside the server. It
// returns nil if that fails.
func (d *clientConn) dupConn() *os.File {
	conn, ok := d.Conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	var line *os.File
	_ = raw.Control(func(fd uintptr) { line = dupFile(fd) }) // nil if the connection is closed
	return line
}
