package http

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"troupe/internal/gateway/http/peer"
)

const (
	// removalTime is the time from the removal of a socket to its check: what removes it
	// may go on to remove its directory, as logind does at the last logout.
	removalTime = time.Second
	// checkEvery is the time between two checks of a socket that cannot be made, or not
	// be watched.
	checkEvery = 2 * time.Second
)

// ownSocket is a listener with a file of its own, see KeepSocket. It removes the file
// when it is closed, unless the file is another's by then.
type ownSocket struct {
	path  string
	watch func(path string) (*peer.Removal, error)
	ended chan struct{} // closed by Close

	mu       sync.Mutex
	listener *net.UnixListener
	made     os.FileInfo // of the file of listener
	closed   bool
}

// KeepSocket makes the file of a listener of Listen anew when it was removed, or its
// directory, until the listener is closed. Connections are not affected.
func KeepSocket(l net.Listener, log *slog.Logger) {
	if d, ok := l.(*ownSocket); ok {
		go d.keep(log)
	}
}

// Accept implements net.Listener.
func (d *ownSocket) Accept() (net.Conn, error) {
	for {
		l := d.current()
		c, err := l.Accept()
		if !errors.Is(err, net.ErrClosed) || d.current() == l {
			return c, err
		}
	}
}

// Addr implements net.Listener.
func (d *ownSocket) Addr() net.Addr { return d.current().Addr() }

func (d *ownSocket) current() *net.UnixListener {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listener
}

// Close implements net.Listener.
func (d *ownSocket) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return net.ErrClosed
	}
	d.closed = true
	close(d.ended)
	if d.there() {
		_ = os.Remove(d.path)
	}
	return d.listener.Close()
}

// there reports whether the path leads to the file of the listener. The caller holds mu.
func (d *ownSocket) there() bool {
	info, err := os.Lstat(d.path)
	return err == nil && os.SameFile(info, d.made)
}

// keep checks the file after each removal, and makes it anew.
func (d *ownSocket) keep(log *slog.Logger) {
	fault := ""
	for {
		removal, unwatched := d.watch(d.path) // before the check, which sees removals before the watch
		made, err := d.restore()
		switch {
		case made:
			log.Info("the socket was removed and has been made anew", "address", d.path)
		case err != nil && err.Error() != fault:
			log.Warn("the socket was removed and cannot be made anew yet", "address", d.path, "error", err)
		}
		if fault = ""; err != nil {
			fault = err.Error()
		}
		pause := checkEvery
		if err == nil && unwatched == nil {
			pause = removalTime
			d.await(removal)
		}
		if unwatched == nil {
			_ = removal.Close()
		}
		select {
		case <-time.After(pause):
		case <-d.ended:
			return
		}
	}
}

// await returns after a removal, or when the listener is closed.
func (d *ownSocket) await(removal *peer.Removal) {
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		_ = removal.Wait()
	}()
	select {
	case <-seen:
	case <-d.ended:
	}
}

// restore makes the file anew if it is not there, and reports whether it has.
func (d *ownSocket) restore() (made bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.there() {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(d.path)), 0o700); err != nil {
		return false, err
	}
	l, info, err := bind(d.path)
	if err != nil {
		return false, err
	}
	_ = d.listener.Close() // no client finds it
	d.listener, d.made = l, info
	return true, nil
}
