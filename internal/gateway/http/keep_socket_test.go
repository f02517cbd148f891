package http

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/http/peer"
)

// keptSocket listens at a/b/s of a directory, and accepts until the test ends.
func keptSocket(t *testing.T, watch func(string) (*peer.Removal, error)) (root string, l net.Listener) {
	root, err := os.MkdirTemp("", "tr")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Mkdir(filepath.Join(root, "a"), 0o700))
	l, err = Listen(filepath.Join(root, "a/b/s"))
	require.NoError(t, err)
	l.(*ownSocket).watch = watch
	KeepSocket(l, slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.ErrorIs(t, <-ended, net.ErrClosed)
		require.NoFileExists(t, filepath.Join(root, "a/b/s"))
	})
	return root, l
}

// answers waits until a socket accepts, and checks its mode.
func answers(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		c, err := net.Dial("unix", path)
		return err == nil && c.Close() == nil
	}, time.Minute, 5*time.Millisecond)
	for path, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		require.Eventually(t, func() bool { // the mode follows the bind
			info, err := os.Lstat(path)
			return err == nil && info.Mode().Perm() == mode
		}, time.Minute, 5*time.Millisecond)
	}
}

// A socket that was removed, in whatever way, is there again within seconds, also where
// the kernel gives no watch. It is removed with its listener.
func TestFaultSocketIsMadeAnew(t *testing.T) {
	t.Parallel()
	none := func(string) (*peer.Removal, error) { return nil, errors.New("no watches are left") }
	for name, remove := range map[string]func(root string) error{
		"the socket":             func(root string) error { return os.Remove(filepath.Join(root, "a/b/s")) },
		"its directory":          func(root string) error { return os.RemoveAll(filepath.Join(root, "a/b")) },
		"all above":              func(root string) error { return os.RemoveAll(filepath.Join(root, "a")) },
		"the name of the socket": func(root string) error { return os.Rename(filepath.Join(root, "a/b/s"), filepath.Join(root, "a/b/t")) },
		"that of its directory": func(root string) error {
			return errors.Join(os.RemoveAll(filepath.Join(root, "a/c")), os.Rename(filepath.Join(root, "a/b"), filepath.Join(root, "a/c")))
		},
		"another's in its place": func(root string) error {
			path := filepath.Join(root, "a/b/s")
			if err := os.Remove(path); err != nil {
				return err
			}
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
	} {
		for how, watch := range map[string]func(string) (*peer.Removal, error){"watched": peer.WatchRemoval, "not watched": none} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				root, l := keptSocket(t, watch)
				path := filepath.Join(root, "a/b/s")
				answers(t, path)
				for range 2 {
					before := l.(*ownSocket).current()
					err := remove(root)
					for errors.Is(err, syscall.ENOTEMPTY) { // it was made anew between the two steps of the removal
						before = l.(*ownSocket).current()
						err = remove(root)
					}
					require.NoError(t, err)
					require.Eventually(t, func() bool { return l.(*ownSocket).current() != before }, time.Minute, 5*time.Millisecond)
					answers(t, path)
				}
			})
		}
	}
}

// A socket that another daemon has made in the meantime is its own, until it ends.
func TestFaultSocketOfAnotherIsLeftToIt(t *testing.T) {
	t.Parallel()
	taken := make(chan struct{})
	root, l := keptSocket(t, func(path string) (*peer.Removal, error) {
		<-taken // it checks the socket then
		return peer.WatchRemoval(path)
	})
	path := filepath.Join(root, "a/b/s")
	require.NoError(t, os.Remove(path))
	other, err := Listen(path)
	close(taken)
	require.NoError(t, err)
	visited := make(chan error, 1)
	go func() {
		c, err := other.Accept() // who restores it asks
		if err == nil {
			err = c.Close()
		}
		visited <- err
	}()
	require.NoError(t, <-visited)
	before := l.(*ownSocket).current()
	_, err = l.(*ownSocket).restore()
	require.Error(t, err)
	require.Same(t, before, l.(*ownSocket).current())
	require.NoError(t, other.Close())
	require.Eventually(t, func() bool { return l.(*ownSocket).current() != before }, time.Minute, 5*time.Millisecond)
	answers(t, path)
}
