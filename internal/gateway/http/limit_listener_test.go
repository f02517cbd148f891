package http

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who holds connections to an address takes only those of that address: there are few,
// and one that leaves makes room.
func TestFewAreLetIn(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	few := LimitListener(l, 2)
	defer few.Close()
	accepted := make(chan net.Conn, 4)
	go func() {
		for {
			c, err := few.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	first := <-accepted
	dial()
	second := <-accepted
	_, err = dial().Read(make([]byte, 1))
	require.Error(t, err, "it was closed")
	require.NoError(t, first.Close())
	_ = first.Close() // once more is no more room
	dial()
	third := <-accepted
	_, err = dial().Read(make([]byte, 1))
	require.Error(t, err)
	for _, c := range []net.Conn{second, third} {
		require.NoError(t, c.Close())
	}
}
