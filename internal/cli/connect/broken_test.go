package connect

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// A verb whose connection breaks reports that the connection to the daemon broke, and not the request:
// "Post "http://troupe/v1/wait": EOF" does not help a user.
func TestAVerbSaysThatTheDaemonLeft(t *testing.T) {
	for _, broken := range []error{
		&url.Error{Op: "Post", URL: "http://troupe/v1/wait", Err: io.EOF},
		io.EOF,
		fmt.Errorf("the daemon's reply cannot be read: %w", io.ErrUnexpectedEOF),
		&net.OpError{Op: "read", Net: "unix", Err: unix.ECONNRESET},
	} {
		err := Connected(broken)
		require.ErrorIs(t, err, DaemonLeft)
		require.Equal(t, "the connection to the daemon broke (restart the daemon with troupe serve; then troupe ps -a shows what became of the job)", out.Coded(err).Error())
	}

	require.Equal(t, "the connection to the daemon broke: it is no stream", BrokenOff(errors.New("it is no stream")).Message)

	for _, other := range []error{nil, cli.ExitStatus(3), errors.New("full"), &out.OutputError{Err: unix.EPIPE}, messages.Invalid("job", "none"), &url.Error{Op: "Get", Err: messages.Invalid("job", "none")}} {
		require.Equal(t, other, Connected(other))
	}
}
