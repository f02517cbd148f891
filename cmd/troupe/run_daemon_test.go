package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/messages"
)

// A verb whose connection breaks says that the daemon has left, and not which
// request that was: "Post "http://troupe/v1/wait": EOF" helps nobody.
func TestAVerbSaysThatTheDaemonLeft(t *testing.T) {
	for _, broken := range []error{
		&url.Error{Op: "Post", URL: "http://troupe/v1/wait", Err: io.EOF},
		io.EOF,
		fmt.Errorf("the daemon's reply cannot be read: %w", io.ErrUnexpectedEOF),
		&net.OpError{Op: "read", Net: "unix", Err: unix.ECONNRESET},
	} {
		err := connected(broken)
		require.ErrorIs(t, err, daemonLeft)
		require.Equal(t, "the daemon has left (troupe serve starts it again; troupe ps -a then says what became of the job)", coded(err).Error())
	}

	require.Equal(t, "the daemon has left: it is no stream", brokenOff(errors.New("it is no stream")).Message)

	for _, other := range []error{nil, exitStatus(3), errors.New("full"), &outputError{unix.EPIPE}, messages.Invalid("job", "none"), &url.Error{Op: "Get", Err: messages.Invalid("job", "none")}} {
		require.Equal(t, other, connected(other))
	}
}

// A client that may open nothing more has not lost its daemon.
func TestAClientWithoutDescriptorsSaysSo(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	said := ""
	for n := 7; n < 12; n++ { // three are its own, some the runtime's
		for _, verb := range []string{"ps", "run 'echo up'"} {
			p := d.beside().bash(fmt.Sprintf("ulimit -n %d; troupe %s", n, verb)).start()
			p.rest()
			<-p.ended
			require.NotContains(t, p.err.String(), "the daemon has left", "%d for %s", n, verb)
			said += p.err.String()
		}
	}
	require.Contains(t, said, "no connection to the daemon can be opened: too many open files (raise the limit of open files")
}
