package http

import (
	"context"
	"os"
	"syscall"
)

// A request that is open for long belongs to its connection, and ends with it. The HTTP
// server sees the end of one while nothing is sent behind the request: from the first byte
// on, the newline of a careless client or his next request, it looks no more until it has
// replied. Then the connection is looked at beside it.

// Read implements net.Conn. The server reads a single byte when it looks for the end.
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

// whileConnected is a context that ends with the client of a request, whatever he has sent
// behind it; end lets go of what it needs.
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
	behind := d.pipelined
	if !behind {
		d.onPipelined = look
	}
	d.readMu.Unlock()
	if behind { // a byte of an earlier request, or of this one before it was handled
		look()
	}
	return there, func() {
		d.readMu.Lock()
		d.onPipelined = nil
		d.readMu.Unlock()
		cancel()
	}
}

// dupConn is the connection once more, to wait at it beside the server; nil: it cannot be had.
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
	_ = raw.Control(func(fd uintptr) { line = again(fd) }) // nil then: it is closed
	return line
}
